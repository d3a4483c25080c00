"""`longhouse agent init`: chooses this session's identity. It asks only on a terminal.

A requested name is registered or adopted. Without one, a new identity is registered, unless an
earlier one from here is silent with unfinished work: then a person chooses, or the command fails.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from longhouse.crew import AmbiguousSession
from longhouse.kernel.errors import InvalidInput, LonghouseError
from longhouse.kernel.terminal import tame
from longhouse.surfaces.cli.checkout import changed_files, checkout_root, place
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.identities import keep, kept_names, rig
from longhouse.surfaces.cli.spec import Shown

__all__ = ["adopt", "arrive", "init", "register"]


def init(
    cli: Cli,
    adopt: str | None = None,
    register: str | None = None,
    role: str | None = None,
    scope: str | None = None,
    non_interactive: bool = False,
) -> Shown:
    if adopt and register:
        raise InvalidInput(
            "--adopt: cannot be combined with --register", recovery="--register NAME"
        )
    asks = not (non_interactive or cli.as_json) and sys.stdin.isatty() and sys.stdout.isatty()
    if adopt:
        return _adopt(cli, adopt, scope, asks=asks)
    if register:
        return _register(cli, register, role, "this name was requested")
    found = cli.call(
        "agents.recommend",
        known=kept_names(cli)[:200],
        uncommitted=changed_files(),
        root=str(checkout_root()),
    )
    if found["action"] == "register":
        return _register(cli, None, role, found["reason"])
    silent = [one for one in found["candidates"] if one["liveness"] != "active"]
    if not asks:
        first = silent[0]["agent_id"]
        raise AmbiguousSession(
            f"there is no safe way to choose your identity: {found['reason']}",
            recovery=f"`longhouse agent init --adopt {first}` to continue as it (recommended: "
            f"{silent[0]['resume_reason']}), or `longhouse agent init --register NAME`",
        )
    return _choose(cli, silent, role, scope)


def _choose(cli: Cli, silent: list[dict[str, Any]], role: str | None, scope: str | None) -> Shown:
    for one in silent:
        cli.out.line(f"{one['agent_id']} is {one['liveness']}: {one['evidence']}")
    answer = _ask(cli, "Continue as which of them? Press Enter for a new identity: ")
    if answer:
        return _adopt(cli, answer, scope, asks=True)
    return _register(cli, None, role, "a person chose a new identity")


def _ask(cli: Cli, question: str) -> str:
    cli.out.flush()
    try:
        return input(tame(question)).strip()
    except EOFError:
        return ""


def register(
    cli: Cli,
    name: str | None = None,
    role: str | None = None,
    display: str | None = None,
    kind: str | None = None,
    status: str | None = None,
    force_update: bool = False,
) -> Shown:
    """`longhouse agent register`."""
    from longhouse.surfaces.cli.identities import as_agent

    token = as_agent(cli, name)["agent_token"] if force_update else None
    made = cli.call(
        "agents.register",
        name=name,
        role=role,
        display_name=display,
        kind=kind,
        status=status,
        rig=rig(),
        force_update=force_update or None,
        agent_token=token,
    )
    return arrive(cli, made, "register", made["recommendation"])


def adopt(cli: Cli, agent: str, scope: str | None = None) -> Shown:
    """`longhouse agent adopt`."""
    return _adopt(cli, agent, scope, asks=not cli.as_json and sys.stdin.isatty())


def _register(cli: Cli, name: str | None, role: str | None, why: str) -> Shown:
    made = cli.call("agents.register", name=name, role=role, rig=rig())
    return arrive(cli, made, "register", f"register: {why}")


def _adopt(cli: Cli, agent: str, scope: str | None, *, asks: bool) -> Shown:
    evidence = {**place(scope), "uncommitted": changed_files(scope), "rig": rig()}
    try:
        made = cli.call("agents.adopt", agent=agent, interactive=asks, **evidence)
    except LonghouseError as error:
        if not asks or error.code != "ADOPTION_REJECTED":
            raise
        cli.out.line(error.message)
        if _ask(cli, f"Continue as {agent} anyway? Type its name to confirm: ") != agent:
            raise
        made = cli.call("agents.adopt", agent=agent, interactive=True, confirm=True, **evidence)
    return arrive(cli, made, "adopt", made["recommendation"])


def arrive(cli: Cli, made: dict[str, Any], mode: str, why: str) -> Shown:
    """Save the token, and report this session's identity."""
    agent = made["agent"]
    path = keep(cli, agent["agent_id"], made["agent_token"])
    data = {
        "agent_id": agent["agent_id"],
        "mode": mode,
        "recommendation": why,
        "agent": agent,
        "kept_in": str(path),
    }
    if "event" in made:
        data["event"] = made["event"]
    return Shown(data, _lines(cli, data))


def _lines(cli: Cli, data: dict[str, Any]) -> Iterable[str]:
    agent = data["agent"]
    verb = "continues as" if data["mode"] == "adopt" else "is"
    yield f"this session {verb} {data['agent_id']} (role {agent['role']}): {data['recommendation']}"
    if cli.out.for_people:
        yield cli.out.style(f"export LONGHOUSE_AGENT_ID={data['agent_id']}", "dim")
