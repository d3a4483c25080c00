"""One client of the soak: act after act over HTTP, each call under a key of its own.

`python -m tests.chaos.soak.client BASE NAME ACTS` does acts until it has done ACTS of them or
BASE/stop exists. Which acts follows from NAME alone. A call that got no answer is repeated with its
key until it has one; the answer is noted (`journal.py`) before the next call begins.
"""

from __future__ import annotations

import base64
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2

from tests.chaos.soak.journal import Journal
from tests.runner.tool_tasks.kit import ENDED

DESK = "desk"
"""The workspace of what clients do among themselves; runners work in `acme`."""
SHOP = "acme"
PATIENCE_S = 240
PAUSE_S = 0.05
LEASE_MS = 2_000
SCOPES = 3
ENDLESS = 5_000
AT_ONCE = 4
TYPE = "tool.task_write_stdin"
DELIVERED = ("tool_task_stdin_written", "tool_task_op_failed")


class Client:
    """Does the acts of one name."""

    def __init__(self, base: Path, name: str) -> None:
        self.base = base
        self.name = name
        self.journal = Journal(base / f"{name}.journal")
        self.act = ""
        self._step = 0
        self._agent: dict[str, str] = {}
        self.started: list[str] = []
        self._http: httpx2.Client | None = None

    def run(self, acts: int) -> None:
        """Do these acts, first of all the one that was begun: nobody else would end it."""
        began = self.journal.began()
        for number in range(max(began, 1), acts + 1):
            if number > began and (self.base / "stop").exists():
                return
            rng = random.Random(f"{self.name} {number}")
            self.journal.append(begins=number)
            act = rng.choices([act for act, _ in ACTS], [weight for _, weight in ACTS])[0]
            self.act, self._step = f"{self.name}-{number}", 0
            act(self, rng)

    def __call__(self, cmd: str, /, workspace: str = DESK, **args: Any) -> dict[str, Any] | None:
        """The result, or nothing after a refusal."""
        self._step += 1
        return self.keyed(f"{self.act}-{self._step}", cmd, workspace, args)

    def keyed(
        self,
        key: str,
        cmd: str,
        workspace: str,
        args: dict[str, Any],
        expects: dict[str, Any] | None = None,
    ) -> dict[str, Any] | None:
        """The same under a key that the caller chose; the answer is noted."""
        envelope = self._answer(cmd, {**args, "workspace": workspace, "idempotency_key": key})
        said: dict[str, Any] | None = envelope["result"] if envelope["success"] else None
        self.journal.append(
            key=key,
            cmd=cmd,
            workspace=workspace,
            args=args,
            result=said,
            refused=None if envelope["success"] else envelope["error"]["code"],
            expects=expects,
        )
        return said

    def wait(self, task: str, *statuses: str) -> None:
        """Until the process has one of these, or has ended."""
        while self._status(task) not in (*statuses, *ENDED):
            time.sleep(PAUSE_S)

    def _status(self, task: str) -> str:
        view = self._answer("tool.task_status", {"workspace": SHOP, "task_id": task})
        status: str = view["result"]["task"]["status"]
        return status

    def outcome(self, task: str, op_id: str) -> str | None:
        """The type of the frame that tells what became of an input; none if the process ended."""
        args = {"workspace": SHOP, "task_id": task, "max_chars": 20_000}
        after = -1
        while True:
            over = self._status(task) in ENDED
            found = self._answer("tool.task_stream_events", {**args, "after_seq": after})["result"]
            for frame in found["frames"]:
                if frame.get("op_id") == op_id and frame["type"] in DELIVERED:
                    outcome: str = frame["type"]
                    return outcome
            after = found["next_cursor"]
            if over and not found["has_more"]:
                return None
            if not found["has_more"]:
                time.sleep(PAUSE_S)

    def keep_pace(self) -> None:
        """Have only a few processes at once; more would only wait for each other."""
        while len(self.started) > AT_ONCE:
            self.wait(self.started.pop(0))

    def _answer(self, cmd: str, args: dict[str, Any]) -> dict[str, Any]:
        """Ask until somebody answers for good: with a key, an unknown outcome is asked again."""
        ends = time.monotonic() + PATIENCE_S
        while True:
            try:
                envelope: dict[str, Any] = self._server().post(f"/call/{cmd}", json=args).json()
                error = envelope.get("error") or {}
                if error.get("code") == "UNAUTHENTICATED":  # a stranger has our server's port now
                    self._forget()
                elif not error.get("retryable") and error.get("code") != "OUTCOME_UNKNOWN":
                    return envelope
            except (httpx2.HTTPError, OSError, ValueError) as failed:
                error = {"code": repr(failed)}
                self._forget()
            if time.monotonic() > ends:
                sys.exit(f"{self.name}: {cmd} had no answer for {PATIENCE_S} s: {error}")
            time.sleep(PAUSE_S)

    def _server(self) -> httpx2.Client:
        if self._http is None:
            note = json.loads((self.base / ".longhouse" / "server.json").read_text())
            token = (self.base / ".longhouse" / "token").read_text().strip()
            headers = {"authorization": f"Bearer {token}"}
            self._http = httpx2.Client(base_url=note["url"], headers=headers, timeout=30)
        return self._http

    def _forget(self) -> None:
        if self._http is not None:
            self._http.close()
        self._http = None

    def agent(self) -> dict[str, str]:
        if not self._agent:
            args = {"name": f"soak-{self.name}"}
            made = self.keyed(f"{self.name}-agent", "agents.register", DESK, args)
            assert made, "an agent of its own was refused"
            self._agent = {"agent": args["name"], "agent_token": made["agent_token"]}
        return self._agent


def note(client: Client, rng: random.Random) -> None:
    for _ in range(rng.randint(1, 4)):
        client("vcs.notes.commit", content=f"said {client.act}-{client._step + 1}")


def job(client: Client, rng: random.Random) -> None:
    """Create a job, then work on whichever is next: perhaps one that a killed client held."""
    client("jobs.create", title=client.act, prompt="p")
    found = client("jobs.claim", runner_id=client.name, lease_ttl_ms=LEASE_MS, allow_stale=True)
    if not found or not found["job"]:
        return
    fence = {"job": found["job"]["id"], "runner_id": client.name}
    fence["claim_revision"] = found["job"]["revision"]
    for step in range(rng.randint(0, 3)):
        if client("jobs.report", **fence, message=f"{step}", lease_ttl_ms=LEASE_MS) is None:
            return
    client("jobs.complete", **fence, status=rng.choice(["DONE", "DONE", "FAILED"]))


def reservation(client: Client, rng: random.Random) -> None:
    """Take one of a few scopes that all clients want, and give it back.

    One that was killed in between has a new token, with which its key is refused: it gives back
    what it may have got.
    """
    scope = {"scope": f"shared/{rng.randrange(SCOPES)}/*"}
    who = client.agent()
    client("agents.reserve", **who, **scope, bead_id="TASK-001")
    client("agents.release", **who, **scope)


def started(
    client: Client,
    n: int,
    script: str,
    lines: list[str],
    code: int | None,
    mode: str,
    *,
    typed: bool = False,
) -> str | None:
    """Start a process that prints these lines; without a code it goes on until it is canceled.

    One that is `typed` to shows every key instead.
    """
    args = {"tool": "bash", "args": {"command": script}, "execution_mode": mode}
    expects = {"lines": lines, "code": code, "mode": mode, "typed": typed}
    client.keep_pace()
    made = client.keyed(f"{client.act}-p{n}", "tool.task_spawn", SHOP, args, expects)
    if made is None:
        return None
    client.started.append(made["task_id"])
    return client.started[-1]


def company(client: Client, rng: random.Random) -> None:
    """A few tiny processes one right after the other."""
    for n in range(rng.randint(1, 4)):
        said, code = [f"{client.act}-{n}-{i}" for i in range(rng.randint(0, 5))], rng.randrange(7)
        script = "\n".join(
            [f": {client.act}-{n}", *(f"echo {line}" for line in said), f"exit {code}"]
        )
        started(client, n, script, said, code, rng.choice(["pipes", "pipes", "pty"]))


def printer(client: Client, rng: random.Random) -> None:
    """One that prints for seconds, so that something dies meanwhile."""
    lines, code = rng.randint(20, 60), rng.randrange(7)
    script = f"for i in $(seq {lines}); do echo {client.act}-$i; sleep 0.1; done; exit {code}"
    said = [f"{client.act}-{i}" for i in range(1, lines + 1)]
    started(client, 0, script, said, code, rng.choice(["pipes", "pipes", "pty"]))


def terminal(client: Client, rng: random.Random) -> None:
    """One that answers what is typed."""
    code = rng.randrange(7)
    words = [*(f"{client.act}-{n}" for n in range(rng.randint(1, 4))), "end"]
    ask = f': {client.act}; while read l; do echo "got $l"; [ "$l" = end ] && exit {code}; done'
    task = started(client, 0, ask, [f"got {word}" for word in words], code, "pty")
    if task:
        client.wait(task, "running")
    while task and words:
        typed = base64.b64encode(f"{words[0]}\n".encode()).decode()
        said = client(TYPE, SHOP, task_id=task, chunk_b64=typed)
        if said is None or (outcome := client.outcome(task, said["op_id"])) is None:
            return  # its host was killed
        if outcome == "tool_task_stdin_written":
            words.pop(0)  # else the server that held it was killed: type it again


def typist(client: Client, rng: random.Random) -> None:
    """Key after key without waiting for any: the program shows each one as it comes."""
    code, keys = rng.randrange(7), [chr(ord("a") + n % 26) for n in range(rng.randint(5, 40))]
    show = f': {client.act}; stty -icanon -echo; while IFS= read -rn1 k; do printf "<%s>" "$k"; '
    script = f'{show}[ "$k" = . ] && exit {code}; done'
    task = started(client, 0, script, [], code, "pty", typed=True)
    if task:
        client.wait(task, "running")
    for n, key in enumerate(keys):
        if task is None or client(TYPE, SHOP, task_id=task, keys=[key]) is None:
            return  # its host was killed, or so much waits for a dead runner
        if n % 5 == 0:
            time.sleep(rng.random() * PAUSE_S)
    while task:
        said = client(TYPE, SHOP, task_id=task, keys=["."])
        if said is None or client.outcome(task, said["op_id"]) != "tool_task_op_failed":
            return


def cancelled(client: Client, rng: random.Random) -> None:
    """One that would print for very long; canceled at once, perhaps before it starts."""
    script = f"for i in $(seq {ENDLESS}); do echo {client.act}-$i; sleep 0.1; done"
    said = [f"{client.act}-{i}" for i in range(1, ENDLESS + 1)]
    if task := started(client, 0, script, said, None, rng.choice(["pipes", "pty"])):
        client("tool.task_cancel", SHOP, task_id=task)


def delegated(client: Client, rng: random.Random) -> None:
    """A job for the runner: its agent, perhaps more than one, writes a file, which is landed."""
    proof = client("vcs.notes.commit", SHOP, content=f"proof {client.act}")
    if proof:
        write = f"open({client.act + '.txt'!r}, 'w').write('once\\n')"
        prompt = f"[[*: {write}; remember(os.getpid()); done({proof['ref']!r})]]"
        client("jobs.create", SHOP, title=client.act, prompt=prompt)


ACTS: list[tuple[Callable[[Client, random.Random], None], int]] = [
    (note, 4),
    (job, 4),
    (reservation, 2),
    (company, 4),
    (printer, 3),
    (terminal, 3),
    (typist, 3),
    (cancelled, 2),
    (delegated, 1),
]
"""What a client may do, and how often."""


if __name__ == "__main__":
    Client(Path(sys.argv[1]), sys.argv[2]).run(int(sys.argv[3]))
