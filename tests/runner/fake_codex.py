#!/usr/bin/env python3
"""A fake of the Codex CLI: does what the prompt scripts and prints what `codex exec --json` prints.

The job's prompt holds lines `[[n: …]]`, n being the slice (or `*`), each a Python statement that
may use the names below. Standard library only; nothing of the real CLI is in here.
"""

import json
import os
import re
import signal  # noqa: F401  (for scripts)
import subprocess
import sys
import time
from pathlib import Path

PROMPT = sys.stdin.read()
ARGV = sys.argv[1:]
SLICE = int(re.findall(r"This is slice (\d+)", PROMPT)[0])
NAMED = re.findall(r"(job|runner_id|claim_revision|workspace)=(\S+)", PROMPT)
FENCE = dict(reversed(NAMED))  # the claim stands before whatever else the prompt tells
RESUMED = ARGV[ARGV.index("--") + 1] if "resume" in ARGV else None
THREAD = RESUMED or f"thread-{os.getpid()}"
STATE = Path(os.environ["FAKE_STATE"]) / FENCE["job"]


def emit(**event):
    print(json.dumps(event), flush=True)


def say(text):
    emit(type="item.completed", item={"id": "item_1", "type": "agent_message", "text": text})


def answer(status, summary="did it", refs=(), events=(), artifacts=(), used=100):
    say(
        json.dumps(
            {
                "status": status,
                "summary": summary,
                "refs": list(refs),
                "events": list(events),
                "artifacts": list(artifacts),
            }
        )
    )
    emit(type="turn.completed", usage={"input_tokens": used, "output_tokens": used // 5})


def done(*refs, **more):
    answer("DONE", refs=refs, **more)


def go_on(**more):
    answer("CONTINUE", **more)


def ask(question):
    go_on(events=[{"kind": "question", "message": question, "percent": None, "refs": []}])


def fail(message):
    emit(type="error", message=message)
    emit(type="turn.failed", error={"message": message})
    sys.exit(1)


def remember(word=None):
    """Leave a trace that the test reads, one line a call."""
    STATE.mkdir(parents=True, exist_ok=True)
    with (STATE / "trace").open("a") as file:
        file.write(f"{word if word is not None else SLICE}\n")


def detach(seconds):
    """A grandchild in its own session that also ignores TERM; its pid is in the trace."""
    code = f"import signal,time; signal.signal(15, signal.SIG_IGN); time.sleep({seconds})"
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    time.sleep(0.2)  # until it ignores TERM
    remember(child.pid)


def main():
    STATE.mkdir(parents=True, exist_ok=True)
    (STATE / f"prompt-{SLICE}").write_text(PROMPT)
    (STATE / f"argv-{SLICE}").write_text(json.dumps(ARGV))
    emit(type="thread.started", thread_id=THREAD)
    emit(type="turn.started")
    script = PROMPT if "[[" in PROMPT else (STATE / "prompt-1").read_text()
    found = re.findall(r"^\[\[(\d+|\*): (.*)\]\]$", script, re.MULTILINE)
    wanted = dict(found).get(str(SLICE), dict(found).get("*"))
    if wanted is None:
        fail(f"nothing is scripted for slice {SLICE}")
    exec(wanted or "", globals())


if __name__ == "__main__":
    main()
