"""The executor interface: turns a slice of a job into a command line, and output into an answer.

    plan(job, slice)  -> Invocation    argv, additions to the environment, the prompt on stdin
    parse(output)     -> SliceResult   the agent's answer, its session and its usage

Nothing here starts a process or calls the control plane. To add an executor, implement `Executor`
and name it in an entry point of the group `longhouse.executors`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import msgspec
from msgspec import Meta

from longhouse.executors.options import Sandbox
from longhouse.kernel.delegation import ARTIFACTS, PROFILES
from longhouse.supervisor import StreamCapture

__all__ = [
    "PROFILES",
    "SCHEMA",
    "AgentAnswer",
    "AnswerArtifact",
    "AnswerEvent",
    "ClaimedJob",
    "Executor",
    "Invocation",
    "McpEntry",
    "RunOutput",
    "Sandbox",
    "Slice",
    "SliceResult",
    "TokenUsage",
    "answer_in",
    "as_answer",
]


class ClaimedJob(NamedTuple):
    """A claimed job: its spec, and the fence its agent needs to report on its own.

    `model` and a slice's `session` have been checked: neither can be read as a flag. All other
    text here is untrusted.
    """

    id: str
    workspace: str
    title: str
    prompt: str
    kind: str
    profile: str
    runner_id: str
    claim_revision: int
    task: str | None = None
    anchor: str | None = None
    model: str | None = None
    expected_artifacts: tuple[str, ...] = ()
    meta: dict[str, Any] = {}

    @property
    def given(self) -> tuple[str, ...]:
        """The files the job reserves; `meta.paths` may also be a free-form note, then none."""
        paths = self.meta.get("paths")
        return tuple(map(str, paths)) if isinstance(paths, list) else ()


class McpEntry(NamedTuple):
    """How the agent reaches Longhouse, if at all: a program to start, or a URL.

    `token` is the agent's own token for its job, never the runner's.
    """

    command: tuple[str, ...] = ()
    url: str | None = None
    token: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        """Headers for requests to the URL besides the token; they limit the caller to agent."""
        return {"Longhouse-Role": "agent"}

    def argv(self, scratch: Path) -> list[str]:
        """The command line. The token is passed in a file, since other users can see arguments."""
        if self.token is None:
            return list(self.command)
        file = scratch / "agent-token"
        file.touch(mode=0o600)
        file.write_text(self.token)
        return [*self.command, "--agent-token-file", str(file)]

    @property
    def given(self) -> bool:
        return bool(self.command or self.url)


class Slice(NamedTuple):
    """One run of an agent: its prompt, its folders, and the session to resume.

    The folder `cwd` is a stranger's: the program that is started must not run, load or obey
    settings that it finds there. Nor may what the agent runs read or write the folders `hidden`,
    as far as the program's sandbox can do that.
    """

    number: int
    prompt: str
    cwd: Path
    scratch: Path
    sandbox: Sandbox
    entry: McpEntry
    session: str | None = None
    hidden: tuple[Path, ...] = ()


class Invocation(NamedTuple):
    """A child to start; `env` is added to the runner's environment."""

    argv: list[str]
    stdin: str
    env: dict[str, str] = {}


class RunOutput(NamedTuple):
    """How the child ended and what it printed; `scratch` is the folder that `plan` could use."""

    code: int | None
    signal: int | None
    stdout: StreamCapture
    stderr: StreamCapture
    scratch: Path


class AnswerEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event that the agent wants reported."""

    kind: str
    message: str
    percent: int | None = None
    refs: list[str] = []


class AnswerArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the agent wrote as a result."""

    kind: str
    path: str


class AgentAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The agent's final answer; SCHEMA describes the same to its CLI."""

    status: Literal["DONE", "FAILED", "CONTINUE"]
    summary: Annotated[str, Meta(max_length=100_000)]
    refs: list[str] = []
    events: list[AnswerEvent] = []
    artifacts: list[AnswerArtifact] = []


class TokenUsage(NamedTuple):
    """Tokens and dollars of one slice, or, for the executor's `totals`, of the whole session."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0

    def since(self, before: TokenUsage, totals: tuple[str, ...]) -> TokenUsage:
        """What this slice used; a total that went down has been reset."""
        mine = {name: getattr(self, name) - getattr(before, name) for name in totals}
        return self._replace(**{name: more for name, more in mine.items() if more >= 0})


class SliceResult(NamedTuple):
    """Either an answer or an error, and in both cases what is known of the session and usage."""

    answer: AgentAnswer | None = None
    error: str | None = None
    session: str | None = None
    usage: TokenUsage = TokenUsage()
    notes: tuple[str, ...] = ()


class Executor(Protocol):
    """Runs jobs with one kind of agent."""

    name: str
    profiles: tuple[str, ...]
    totals: tuple[str, ...]
    """The usage fields that are session totals; earlier slices are subtracted from them."""

    def plan(self, job: ClaimedJob, slice: Slice) -> Invocation: ...

    def parse(self, output: RunOutput) -> SliceResult: ...


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}

SCHEMA = _object(
    status={"type": "string", "enum": ["DONE", "FAILED", "CONTINUE"]},
    summary=_TEXT,
    refs=_TEXTS,
    events={
        "type": "array",
        "items": _object(
            kind=_TEXT, message=_TEXT, percent={"type": ["integer", "null"]}, refs=_TEXTS
        ),
    },
    artifacts={
        "type": "array",
        "items": _object(
            kind={"type": "string", "enum": list(ARTIFACTS)},
            path=_TEXT,
        ),
    },
)
"""Strict, as model providers require: every property is required, and no other is allowed."""


def answer_in(text: str) -> AgentAnswer | str:
    """The answer in a text, or why there is none; a code fence around the JSON is allowed."""
    text = text.strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    try:
        return as_answer(json.loads(text))
    except ValueError:
        return f"the answer is not JSON: {text[:120]!r}" if text else "there is no answer"


def as_answer(value: Any) -> AgentAnswer | str:
    try:
        return msgspec.convert(value, AgentAnswer)
    except msgspec.ValidationError as error:
        return f"the answer does not match the schema: {error}"
