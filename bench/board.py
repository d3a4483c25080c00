"""Create, claim and complete a task, beside the board of hermes-agent: one process, and eight.

All write to one SQLite file with synchronous=FULL, and send keys as our clients do. Ours open the
store themselves (embedded), or send their calls to its server over HTTP. The board may damage its
file under concurrent use; it then has no figure.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from bench._harness import interleave, report
from bench._peers import Peer, running
from bench._servers import serving

LIVES = 160
PROCESSES = 8
OURS = """
import sys, time
from longhouse.api import ClaimJob, CompleteJob, CreateJob
from longhouse.client import connect
how, where, token, runner = sys.argv[1:]
if how == "http":
    longhouse = connect(where, token=token, workspace="bench")
else:
    longhouse = connect(dir=where, workspace="bench", embedded=True)
print("ready", flush=True)
for line in sys.stdin:
    began = time.perf_counter()
    for _ in range(int(line)):
        longhouse(CreateJob(title="Look", prompt="Look at it."))
        job = longhouse(ClaimJob(runner_id=runner)).job
        done = CompleteJob(
            job=job.id, runner_id=runner, claim_revision=job.revision, status="DONE", summary="done"
        )
        longhouse(done)
    print(int(line) / (time.perf_counter() - began), flush=True)
"""


@contextmanager
def ours(how: str, where: str, token: str, runner: str) -> Iterator[Peer]:
    """One client process."""
    process = subprocess.Popen(
        [sys.executable, "-c", OURS, how, where, token, runner],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield Peer(process)
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def together(clients: Sequence[Peer]) -> float:
    """Lives per second of all of them at once."""
    each = LIVES // len(clients)
    started = time.perf_counter()
    for client in clients:
        client.ask(each)
    if any(math.isnan(client.answer()) for client in clients):
        return math.nan
    return each * len(clients) / (time.perf_counter() - started)


def main() -> None:
    with ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="longhouse-bench-")))
        folders = {name: base / name for name in ("one", "many", "embedded", "http")}
        for folder in folders.values():
            folder.mkdir()
        up = stack.enter_context(serving(folders["http"]))
        contestants: dict[str, Callable[[], float]] = {}
        for name, count in (("one", 1), ("many", PROCESSES)):
            boards = [
                stack.enter_context(running("hermes", str(folders[name]))) for _ in range(count)
            ]
            contestants[f"hermes-{name}"] = partial(together, boards)
            store = str(folders["embedded"] / ".longhouse")
            for how, where in (("embedded", store), ("http", up.url)):
                clients = [
                    stack.enter_context(ours(how, where, up.token, f"{name}-{number}"))
                    for number in range(count)
                ]
                contestants[f"{how}-{name}"] = partial(together, clients)
        figures = interleave(contestants, rounds=5)
        for name in ("one", "many"):
            for how in ("embedded", "http"):
                ratio = figures.ratio(f"{how}-{name}", f"hermes-{name}")
                least = ">=0.5" if (how, name) == ("http", "one") else ">=1.0"
                report(f"board-{how}-{name}", ratio, least, figures if how == "embedded" else None)


if __name__ == "__main__":
    main()
