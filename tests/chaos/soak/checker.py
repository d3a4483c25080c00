"""Compares what clients were told with what is there: complaints, or none.

`ask` needs the server, `look` opens the store after everything has stopped. Everything that was
acknowledged is there once; what was not acknowledged is there once or not at all; a process whose
host lived has its exit code and all its lines once and in order, and one whose host was killed says
so and has a whole beginning of them (all, if it wrote to pipes). The same is true of typed keys.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from longhouse.config import load
from longhouse.house import House
from longhouse.store.artifacts import artifacts_of
from longhouse.store.engine import Row
from longhouse.store.queries import Query
from longhouse.store.tx import LogRow, Tx
from longhouse.store.tx import sql as log_sql
from longhouse.store.upkeep import verify
from tests.chaos.soak.client import DELIVERED, DESK, SHOP, TYPE
from tests.chaos.soak.journal import Call
from tests.chaos.soak.world import World
from tests.store.upkeep_kit import call_of

__all__ = ["ask", "look"]

BRANCH = "longhouse/landed"
ENDINGS = {"completed", "failed", "canceled"}
EXPECTED = {
    "agents.reserve": {"RESERVATION_CONFLICT", "CONFLICT"},
    "agents.release": {"RESERVATION_NOT_FOUND", "RELEASE_FORBIDDEN", "CONFLICT"},
    "jobs.report": {"CLAIM_LOST"},
    "jobs.complete": {"CLAIM_LOST"},
    "tool.task_write_stdin": {"CONFLICT"},
}
"""How a call may be refused when somebody died before it, or was quicker."""
ALL = 1 << 31
NOTES, TITLES, HELD = (
    Query(name, text, text)
    for name, text in (
        ("notes", "SELECT content FROM doc_entries WHERE ws = :ws AND committed = 1"),
        ("titles", "SELECT title FROM jobs WHERE ws = :ws"),
        ("held", "SELECT path FROM reservations WHERE ws = :ws AND state = 'active'"),
    )
)
SLACK_MS = 2_000
SECRETS = ("agent_token",)


def ask(world: World) -> list[str]:
    """What the server says about processes, and git about the work tree."""
    calls = world.calls()
    return [*_told(calls), *_processes(world, calls), *_landed(world, calls)]


def look(world: World, db: str | None) -> list[str]:
    """What the store holds, and what is left on the machine."""
    flags = {"dir": str(world.base / ".longhouse"), "workspace": SHOP, "db": db}
    found: list[str] = []
    calls = world.calls()
    with House(load(flags, environ={}, cwd=world.base)) as house:
        said = verify(house.db, artifacts_of(house), house.registry, call_of(house), full=True)
        found += [f"verify: {one.where}: {one.message}" for one in said.problems]
        for workspace in (DESK, SHOP):
            found += [f"{workspace}: {one}" for one in _stored(house, workspace, calls)]
            found += [f"{workspace}: {one}" for one in _jobs(_log(house, workspace))]
    found += [f"still runs: {one}" for one in world.strays()]
    return found + [f"still there: {one}" for one in world.worktrees()]


def _rows(house: House, workspace: str, query: Query, **values: Any) -> list[Row]:
    def read(tx: Tx) -> list[Row]:
        return list(tx.all(query, **values))

    return house.db.read(workspace, read, call_of(house))


def _log(house: House, workspace: str) -> list[LogRow]:
    """The whole log; that it has no gap is for `verify` to say."""
    found = _rows(house, workspace, log_sql.log_after, after=0, limit=ALL)
    return [LogRow.from_row(row) for row in found]


def _told(calls: list[Call]) -> Iterator[str]:
    """Every refusal was to be expected, and a repeated call got the same answer."""
    answers: dict[str, Any] = {}
    for call in calls:
        if call.refused and call.refused not in EXPECTED.get(call.cmd, ()):
            yield f"{call.key}: {call.cmd} was refused: {call.refused}"
        said = {k: v for k, v in (call.result or {}).items() if k not in SECRETS}
        if call.refused is None and answers.setdefault(call.key, said) != said:
            yield f"{call.key}: {call.cmd} got two answers: {answers[call.key]}, {said}"


def _processes(world: World, calls: list[Call]) -> Iterator[str]:
    asked = {call.key: call for call in calls if call.cmd == "tool.task_spawn" and call.result}
    by_script: defaultdict[str, list[str]] = defaultdict(list)
    for task in _tasks(world):  # a long list leaves out what they run
        by_script[world.desk.task(task)["args"]["command"]].append(task)
    yield from (f"{', '.join(ids)} are doubled" for ids in by_script.values() if len(ids) > 1)
    for call in asked.values():
        assert call.result
        assert call.expects
        if call.expects["typed"]:
            yield from _typed(world, call.result["task_id"], call.expects["code"], calls)
        else:
            yield from _process(world, call.result["task_id"], call.expects)


def _tasks(world: World) -> Iterator[str]:
    more: dict[str, Any] = {}
    while True:
        page = world.desk("tool.task_list", limit=100, **more)
        yield from (task["task_id"] for task in page["tasks"])
        if not page["next_cursor"]:
            return
        more = {"cursor": page["next_cursor"]}


def _process(world: World, task: str, expects: dict[str, Any]) -> Iterator[str]:
    view = world.desk.task(task)
    frames = [frame.get("chunk") or "" for frame in world.desk.frames(task)]
    said = [line for line in "".join(frames).replace("\r\n", "\n").split("\n") if line]
    if expects["mode"] == "pty" and any(line.startswith("got ") for line in expects["lines"]):
        said = [line for line in said if line.startswith("got ")]  # the others are what was typed
    if expects["code"] is None:
        said = [line for line in said if line != "Terminated"]  # what bash says of its sleep
    wanted, whole = expects["lines"], said == expects["lines"]
    ended = (view["status"], view["exit_code"], view["cause"])
    told = f"{task} {expects['mode']} ended as {ended} with {len(said)} of {len(wanted)} lines"
    if view["cause"] == "host_lost":
        if not _host_died(world, view):
            yield f"{told}, but no host was killed meanwhile"
        ran_on = expects["mode"] == "pipes" and view["status"] == "exited"
        if not whole and ((ran_on and expects["code"] is not None) or not _begins(wanted, said)):
            yield f"{told}: {said[-3:]}"
    elif expects["code"] is None:
        if view["status"] != "cancelled" or not _begins(wanted, said):
            yield f"{told}, though it was canceled: {said[-3:]}"
    elif ended != ("exited", expects["code"], None) or not whole:
        yield f"{told} instead of {expects['code']}: {said[-3:]}"


def _typed(world: World, task: str, code: int, calls: list[Call]) -> Iterator[str]:
    """Every acknowledged key has one outcome, in order, and those that were typed were read so.

    A host that was killed takes with it what its program had not shown yet.
    """
    view, frames = world.desk.task(task), world.desk.frames(task)
    asked: dict[str, str] = {}
    for call in calls:
        if call.cmd == TYPE and call.result and call.args["task_id"] == task:
            asked[call.result["op_id"]] = call.args["keys"][0]
    outcomes = [(one["op_id"], one["type"]) for one in frames if one["type"] in DELIVERED]
    told = [op_id for op_id, _ in outcomes]
    typed = [asked.get(op_id, "?") for op_id, kind in outcomes if kind == DELIVERED[0]]
    read = re.findall("<(.)>", "".join(one.get("chunk") or "" for one in frames))
    lost = view["cause"] == "host_lost"
    if told != (list(asked)[: len(told)] if lost else list(asked)):
        yield f"{task}: asked for {list(asked)}, and told of {told}"
    if read != (typed[: len(read)] if lost else typed):
        yield f"{task}: typed {''.join(typed)}, and it read {''.join(read)}"
    ended = (view["status"], view["exit_code"], view["cause"])
    if lost and not _host_died(world, view):
        yield f"{task} ended as {ended}, but no host was killed meanwhile"
    if not lost and ended != ("exited", code, None):
        yield f"{task} ended as {ended} instead of {code}"


def _begins(wanted: list[str], said: list[str]) -> bool:
    """Whether these are the first lines; the last may have been cut off with its terminal."""
    *whole, last = said or [""]
    rest = wanted[len(whole) :]
    return wanted[: len(whole)] == whole and (not last or (bool(rest) and rest[0].startswith(last)))


def _host_died(world: World, view: dict[str, Any]) -> bool:
    ended = view["ended_at_ms"] or 0
    return any(
        view["created_at_ms"] - SLACK_MS <= at <= ended + SLACK_MS for at in world.hosts_killed
    )


def _landed(world: World, calls: list[Call]) -> Iterator[str]:
    """The file of every delegated job is on the branch of landed changes, in one commit."""
    for call in calls:
        if call.cmd == "jobs.create" and call.result and "remember" in call.args["prompt"]:
            path = f"{call.args['title']}.txt"
            commits = _git(world, "log", "--format=%h", BRANCH, "--", path).split()
            text = _git(world, "show", f"{BRANCH}:{path}")
            if (len(commits), text) != (1, "once\n"):
                job = call.result["job"]["id"]
                yield f"{job}: {path} is {text!r} of {len(commits)} commits on {BRANCH}"


def _git(world: World, *words: str) -> str:
    argv = ["git", "-C", str(world.repo), *words]
    return subprocess.run(argv, capture_output=True, text=True).stdout


def _stored(house: House, workspace: str, calls: list[Call]) -> Iterator[str]:
    """Everything acknowledged is there, nothing is there twice, and no reservation is left."""
    log = {(row.ref, row.kind) for row in _log(house, workspace)}
    notes = Counter(row["content"] for row in _rows(house, workspace, NOTES))
    titles = Counter(row["title"] for row in _rows(house, workspace, TITLES))
    yield from (f"{text!r} is there {n} times" for text, n in (notes + titles).items() if n > 1)
    for call in (one for one in calls if one.result and one.workspace == workspace):
        said = call.result or {}
        event = said.get("event")
        if event and (event["ref"], event["kind"]) not in log:
            yield f"{call.key}: {event['ref']} {event['kind']} is not in the log"
        if call.cmd == "vcs.notes.commit" and not notes[call.args["content"]]:
            yield f"{call.key}: the note {call.args['content']!r} is lost"
        if call.cmd == "jobs.create" and not titles[call.args["title"]]:
            yield f"{call.key}: the job {call.args['title']!r} is lost"
    held = [row["path"] for row in _rows(house, workspace, HELD)]
    yield from (f"the reservation of {path} is left" for path in held)


def _jobs(log: list[LogRow]) -> Iterator[str]:
    """Every job ended, and once."""
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in log:
        if row.subject and row.subject.startswith("JOB-"):
            seen[row.subject][row.kind] += 1
    for job, kinds in seen.items():
        ends = {kind: kinds[kind] for kind in ENDINGS if kinds[kind]}
        if sum(ends.values()) != 1:
            yield f"{job} ended {ends or 'never'}"
