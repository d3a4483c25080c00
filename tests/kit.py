"""Tools to drive a house in tests: a manual clock, counted ids, short calls."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

from longhouse.config.stores import Homes, StorePlace
from longhouse.dispatch import Caller, ClientSession
from longhouse.house import House
from longhouse.kernel.envelope import Answer
from longhouse.kernel.registry import Role
from longhouse.kernel.schema import args_schema, required_args, takes


def place_of(folder: Path) -> StorePlace:
    """The place of a store in a folder that a test chose."""
    return StorePlace(Homes.of({}), folder, folder, "acme", chosen=True)


class ManualClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, now_ms: int = 1_800_000_000_000) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def advance(self, ms: int) -> None:
        self._now_ms += ms


class CountedIds:
    """Sequential ids, the same in every run."""

    def __init__(self, count: int = 0) -> None:
        self.count = count

    def token(self, nbytes: int = 16) -> str:
        self.count += 1
        return f"{self.count:0{nbytes * 2}x}"


class Lh:
    """A house with a short way to call it."""

    def __init__(self, house: House, clock: ManualClock) -> None:
        self.house = house
        self.clock = clock
        self.kept: dict[str, str] = {}
        """What a world said only once, such as tokens."""

    def __call__(self, cmd: str, /, **args: Any) -> dict[str, Any]:
        """The result; a refusal fails the test with its message."""
        answer = self.house.call(cmd, args)
        assert answer.success, answer.envelope["error"]
        result: dict[str, Any] = answer.envelope["result"]
        return result

    def envelope(self, cmd: str, /, **args: Any) -> dict[str, Any]:
        """The complete envelope of a success or a refusal."""
        return self.house.call(cmd, args).envelope

    def refused(self, cmd: str, /, **args: Any) -> dict[str, Any]:
        """The error; a success fails the test."""
        envelope = self.envelope(cmd, **args)
        assert not envelope["success"], envelope["result"]
        error: dict[str, Any] = envelope["error"]
        return error

    def lines(self, cmd: str, /, **args: Any) -> list[str]:
        text = self.house.call(cmd, {**args, "fmt": "lines"}).text
        assert text is not None
        return text.split("\n")

    def portal(self, tool: str, /, **arguments: Any) -> Answer:
        """The answer to a portal call, as an MCP client makes it."""
        return self.house.dispatcher.portal(tool, arguments, Caller(Role.OPERATOR))

    def run_actions(self, envelope: dict[str, Any], **add: Any) -> list[Answer]:
        """Run every complete action of an answer as given; a refused one fails the test.

        One that lacks something runs if `add` has all of it, by the last part of each name; else
        what is missing must be all that keeps it from running.
        Actions may be alternatives: after one has written, another may find the state changed.
        An action that would wait is asked to answer immediately.
        """
        caller = Caller(Role.OPERATOR, session=ClientSession())
        answers: list[Answer] = []
        wrote = False
        for offered in envelope["actions"]:
            action = completed(offered, add)
            if action is None:
                self.lacks_nothing_else(offered)
                continue
            answer = self.house.dispatcher.portal(action["tool"], at_once(action), caller)
            allowed = answer.success or (wrote and answer.code == "CONFLICT")
            assert allowed, (action, answer.envelope["error"])
            wrote = wrote or action["risk"] != "none"
            answers.append(answer)
        return answers

    def lacks_nothing_else(self, action: dict[str, Any]) -> None:
        """Fail if more than the missing arguments keeps an action from running."""
        cmd, args = self.house.dispatcher.call_portal(action["tool"], action["args"])
        command = self.house.registry.get(cmd)
        tops = {re.split(r"[.\[]", name)[0] for name in action["missing"]}
        for name, value in args.items():
            fits = takes(command, name, value) or name in tops or name == "workspace"
            assert fits, (cmd, name, value)
        assert required_args(command) <= {*args, *tops}, (action, "lacks more than it says")
        assert tops <= {*args_schema(command)["properties"]}, (action, "lacks what is not there")

    def as_role(self, role: Role) -> Caller:
        return Caller(role)


def runnable(envelope: dict[str, Any]) -> list[dict[str, Any]]:
    """The actions of an answer that run as given: nothing in them is missing."""
    return [action for action in envelope["actions"] if "missing" not in action]


def completed(action: dict[str, Any], add: dict[str, Any]) -> dict[str, Any] | None:
    """The action with what it lacks added; None if that is not known."""
    done: dict[str, Any] = deepcopy(action)
    for name in done.pop("missing", ()):
        *path, last = re.findall(r"[a-z_]+|[0-9]+", name)
        if last not in add:
            return None
        at = done["args"].get("args", done["args"])
        for part in path:
            at = at[int(part)] if part.isdigit() else at.setdefault(part, {})
        at[last] = add[last]
    return done


WAITING = ("jobs.wait", "tool.task_wait", "tool.task_watch")
"""Commands that wait for events unless they are asked to answer immediately."""


def at_once(action: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an action, with any waiting time set to zero."""
    arguments: dict[str, Any] = action["args"]
    names = (arguments.get("cmd"), f"{action['tool']}.{arguments.get('op')}")
    if any(name in WAITING for name in names):
        return {**arguments, "args": {**arguments.get("args", {}), "timeout_ms": 0}}
    return arguments
