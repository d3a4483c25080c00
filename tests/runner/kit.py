"""A runner's parts without a server process: MCP calls go directly to a house, agents are fakes.

`Rig` holds a house, a plane over it and short timeouts; `rig.run(prompt)` runs one job to its end.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from longhouse.client.wire import Reply
from longhouse.config import load
from longhouse.dispatch import Caller
from longhouse.executors.base import McpEntry
from longhouse.executors.codex import Codex
from longhouse.executors.options import Options, load_options
from longhouse.house import House
from longhouse.kernel.errors import Unreachable
from longhouse.kernel.registry import Role
from longhouse.runner.job_worker import JobWorker
from longhouse.runner.plane import Plane
from longhouse.runner.runner_context import RunnerContext
from longhouse.runner.skills import SkillPacks

FAKE_CODEX = str(Path(__file__).with_name("fake_codex.py"))
QUICK = {
    "runner_id": "r1",
    "codex_bin": FAKE_CODEX,
    "slice_s": 20,
    "slice_grace_s": 0,
    "kill_grace_s": 1,
    "retry_pause_ms": 0,
    "heartbeat_ms": 20_000,
    "answer_wait_s": 20,
    "drain_s": 0,
    "max_proof_rounds": 2,
}


class HouseWire:
    """A wire connected to a house in this process."""

    def __init__(self, house: House) -> None:
        self._house = house
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.away = False
        self.on_call: Callable[[str, dict[str, Any]], None] = lambda _cmd, _args: None
        self.origin = type("Origin", (), {"url": "http://house"})()

    def request(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_s: float | None = None,
    ) -> Reply:
        assert (method, path) == ("POST", "/mcp")
        message = json.loads(body or b"")
        params = message["params"]
        assert (headers or {})["Mcp-Name"] == params["name"]
        arguments = params["arguments"]
        self.calls.append((arguments["cmd"], arguments["args"]))
        self.on_call(arguments["cmd"], arguments["args"])
        if self.away:
            raise Unreachable("away")
        answer = self._house.dispatcher.portal(params["name"], arguments, Caller(Role.OPERATOR))
        text = {"type": "text", "text": answer.body().decode()}
        result = {"content": [text], "isError": not answer.success}
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        return Reply(200, {"content-type": "application/json"}, body)

    def close(self) -> None:
        pass


class Rig:
    """A house, and what a runner needs to work for it."""

    def __init__(self, base: Path, **options: Any) -> None:
        self.base = base
        self.state = base / "state"
        root = base / "repo"
        root.mkdir()
        flags = {"dir": str(base / ".longhouse"), "workspace": "acme", "cache": str(base / "cache")}
        settings = load(flags, environ={}, cwd=root)
        self.house = House(settings)
        own = self.house.facts.own
        self.wire = HouseWire(self.house)
        self.lines: list[tuple[str, dict[str, Any]]] = []
        self.options: Options = load_options({**QUICK, **options}, settings.place, environ={})
        plane = Plane(
            lambda: None if self.wire.away else self.wire,  # type: ignore[arg-type,return-value]
            "acme",
            actor=self.options.runner_id,
            tell=self.tell,
        )
        self.context = RunnerContext(
            plane=plane,
            options=self.options,
            executors={"codex": Codex(FAKE_CODEX)},
            log=self.tell,  # type: ignore[arg-type]
            skills=SkillPacks(plane, self.options),
            workspace="acme",
            root=root,
            home=settings.dir,
            cache=settings.cache,
            entry=McpEntry(command=("longhouse", "mcp")),
            projects=tuple(sorted(own.ids)) if own else (),
        )

    def tell(self, event: str, **facts: Any) -> None:
        self.lines.append((event, facts))

    def told(self, event: str) -> list[dict[str, Any]]:
        return [facts for name, facts in self.lines if name == event]

    def __call__(self, cmd: str, /, **args: Any) -> dict[str, Any]:
        answer = self.house.call(cmd, args)
        assert answer.success, answer.envelope["error"]
        result: dict[str, Any] = answer.envelope["result"]
        return result

    def note(self, content: str = "what was done") -> str:
        ref: str = self("vcs.notes.commit", content=content)["ref"]
        return ref

    def job(self, *script: str, **more: Any) -> str:
        """A job whose agent runs these statements, one per slice; the last one repeats."""
        last = len(script)
        lines = [f"[[{n if n < last else '*'}: {line}]]" for n, line in enumerate(script, 1)]
        prompt = "\n".join(lines)
        job: str = self("jobs.create", title="Look", prompt=prompt, **more)["job"]["id"]
        return job

    def claim(self, job: str) -> JobWorker:
        claimed = self(
            "jobs.claim",
            job=job,
            runner_id=self.options.runner_id,
            lease_ttl_ms=self.options.lease_ms,
        )["job"]
        return JobWorker(self.context, claimed, time.monotonic())

    def run(self, *script: str, **more: Any) -> str:
        """Run one job to its end, in this thread."""
        job = self.job(*script, **more)
        self.claim(job)()
        return job

    def before_slice(self, number: int, action: Callable[[], None]) -> None:
        """Run an action just before that slice of any job starts."""
        codex = self.context.executors["codex"]
        plan = codex.plan

        def planned(job: Any, slice: Any) -> Any:
            if slice.number == number:
                action()
            return plan(job, slice)

        codex.plan = planned  # type: ignore[method-assign]

    def status(self, job: str) -> str:
        found: str = self("jobs.open", job=job)["job"]["status"]
        return found

    def view(self, job: str) -> dict[str, Any]:
        return self("jobs.open", job=job, include_meta=True, max_events=100, max_chars=80_000)

    def events(self, job: str, kind: str | None = None) -> list[dict[str, Any]]:
        """Oldest first."""
        found = self("jobs.tail", job=job, limit=200, max_chars=20_000)["events"]
        return [event for event in found if kind in (None, event["kind"])]

    def messages(self, job: str, kind: str) -> list[str]:
        return [event["message"] for event in self.events(job, kind)]

    def trace(self, job: str) -> list[str]:
        path = self.state / job / "trace"
        return path.read_text().split() if path.exists() else []

    def prompt(self, job: str, number: int = 1) -> str:
        return (self.state / job / f"prompt-{number}").read_text()

    def argv(self, job: str, number: int = 1) -> list[str]:
        argv: list[str] = json.loads((self.state / job / f"argv-{number}").read_text())
        return argv


def resumed(argv: list[str]) -> str | None:
    """The session that the fake agent was told to resume."""
    return argv[argv.index("--") + 1] if "resume" in argv else None


@contextmanager
def own_signals() -> Iterator[None]:
    """Restore the signal handlers that a runner has replaced."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
