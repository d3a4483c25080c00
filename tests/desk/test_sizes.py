"""How long the answers are that an agent reads most: all characters, with envelope and actions."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.kernel.registry import Role
from tests.desk.test_own_place import client, registered
from tests.kit import Lh
from tests.processes.kit import Runner, allow
from tests.security.kit import Outsider

STATUS, START, CLOSE = 900, 600, 900
STEPS = ["Profile the product query", "Add the missing index", "Prove it with a benchmark"]
TITLES = [
    "Search: find the slow query",
    "Checkout: tell people which card was declined",
    "Import: keep the order of the rows",
    "Rebuild the product index without downtime",
    "Mend the flaky login test on slow machines",
]
NAMES = ["amber-otter", "misty-heron", "quiet-badger", "brave-falcon", "lucky-walrus"]


def chars(caller: Outsider, cmd: str, /, **args: Any) -> int:
    answer = caller._lh.house.call(cmd, args, caller.caller)
    assert answer.success, answer.envelope["error"]
    assert "BUDGET" not in str(answer.envelope["warnings"])
    return len(answer.body().decode())


def one_task(lh: Lh) -> Outsider:
    agent = client(lh, "one")
    agent("tasks.macro.start", task_title=TITLES[0], steps=STEPS)
    return agent


def a_day(lh: Lh) -> Outsider:
    """Ten tasks and five agents with files, mail, jobs and processes; the first agent asks."""
    allow(lh)
    team = [client(lh, f"c{n}") for n in range(5)]
    known = [registered(one, name) for one, name in zip(team, NAMES, strict=True)]
    for n in range(10):
        who = team[n % 5]
        who("tasks.macro.start", task_title=TITLES[n % 5], steps=STEPS)
        path = f"src/room_{n}/*"
        who("agents.reserve", scope=path, bead_id=f"TASK-{n + 1:03d}", **known[n % 5])
    runner = Runner(lh)
    for name, port in (("dev-server", 5173), ("test-watcher", None), ("database", 5432)):
        task = team[1]("tool.task_spawn", tool="bash", args={"command": name}, name=name)["task_id"]
        runner.start(task)
        if port:
            runner.append(task, {"type": "tool_task_ports", "ports": [port]})
    for n, title in enumerate(TITLES):
        lh("jobs.create", title=title, prompt="Look.", task=f"TASK-{n + 1:03d}")
    fence = lh("jobs.claim", job="JOB-001", runner_id="r1")["job"]["revision"]
    asks = {"kind": "question", "message": "Which of the two indexes may I drop meanwhile?"}
    lh("jobs.report", job="JOB-001", runner_id="r1", claim_revision=fence, **asks)
    for sender in range(1, 4):
        question = {"to": NAMES[0], "category": "BLOCKED", "subject": "May I?"}
        team[sender]("agents.send", bead_id="TASK-006", body="?", **question, **known[sender])
    lh("tasks.focus.set", task="TASK-003")
    return team[0]


WORK = {
    "Search: the product page takes four seconds when no filter is set": [
        "Reproduce it with the customer's catalogue of 40,000 products",
        "Profile the query and write down where the time goes",
        "Add the missing index on (shop_id, category_id, position)",
        "Prove with `make bench ARGS=search` that it takes less than 200 ms",
    ],
    "Checkout: tell people which of their cards was declined, and why": [
        "Collect the bank's decline codes and what each of them means to a customer",
        "Write the texts with support; no code is shown to anybody",
        "Show the text below the card, and keep the other fields filled in",
        "Test it with the bank's sandbox: expired, insufficient funds, stolen",
    ],
    "Import: keep the order of rows when a supplier's file has duplicate SKUs": [
        "Read three suppliers' files and note how each marks a duplicate",
        "Decide with the warehouse which row wins; write the decision down",
        "Sort by line number after grouping, not before",
        "Import last month's files again and compare the order",
    ],
}


def a_real_day(lh: Lh) -> Outsider:
    """Three tasks of four steps, two agents with mail, a job that waits and two processes."""
    allow(lh)
    team = [client(lh, f"c{n}") for n in range(2)]
    known = [registered(one, name) for one, name in zip(team, NAMES[:2], strict=True)]
    for n, (title, steps) in enumerate(WORK.items()):
        team[n % 2]("tasks.macro.start", task_title=title, steps=steps)
        team[n % 2]("agents.reserve", scope=f"src/room_{n}/*", **known[n % 2])
    for sender, to in ((0, 1), (1, 0), (1, 0)):
        letter = {"to": NAMES[to], "category": "BLOCKED", "subject": "May I drop the old index?"}
        team[sender]("agents.send", body="Nothing reads it since May.", **letter)
    runner = Runner(lh)
    for name, port in (("storefront-dev-server", 5173), ("postgres-for-tests", 54329)):
        task = team[1]("tool.task_spawn", tool="bash", args={"command": name}, name=name)["task_id"]
        runner.start(task)
        runner.append(task, {"type": "tool_task_ports", "ports": [port]})
    team[0]("jobs.create", title=next(iter(WORK)), prompt="Look at the query.", task="TASK-002")
    return team[0]


@pytest.mark.parametrize("world", [one_task, a_day, a_real_day])
def test_status_start_and_close_fit_in_a_few_hundred_characters(lh: Lh, world: Any) -> None:
    agent = world(lh)
    assert chars(agent, "status") <= STATUS
    assert chars(agent, "tasks.macro.close.step", proof="CMD: make test (exit 0)") <= CLOSE
    assert chars(agent, "tasks.step.close", proof="CMD: make test (exit 0)") <= CLOSE
    assert chars(agent, "tasks.macro.close.step", proof="CMD: make test") <= CLOSE  # and a warning
    title, steps = list(WORK.items())[1]
    assert chars(agent, "tasks.macro.start", task_title=title, steps=steps) <= START
    assert chars(agent, "status") <= STATUS


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AGENT, Role.MANAGER])
def test_status_stays_short_whatever_there_is_and_says_that_there_is_more(
    lh: Lh, role: Role
) -> None:
    a_day(lh)
    long = "Why does the search page take four seconds for some people and not for others? " * 3
    lh("tasks.macro.start", task_title=long[:200], steps=[long[:200]])
    other = client(lh, "other", role)
    assert chars(other, "status") <= STATUS
    short, full = other("status"), other("status", view="full")
    assert short["more"] == "view=full"
    assert len(full["processes"]) > len(short.get("processes", []))
    assert "more" not in full


def test_status_says_who_one_is_who_else_is_here_the_mail_and_what_runs(lh: Lh) -> None:
    said = a_day(lh)("status")
    assert said["me"] == {"agent": "amber-otter", "role": "agent"}
    assert set(said["here"]) <= set(NAMES[1:])
    assert len(said["here"]) >= 3
    assert said["inbox"]["due"] == 3
    assert said["processes"][0] == "database:5432 running since 1970-01-01T00:00Z"
    assert (said["focus"], said["target"]["title"]) == ("TASK-006", TITLES[0])


def test_status_says_why_a_job_waits_before_it_lists_everything_that_runs(lh: Lh) -> None:
    agent = a_real_day(lh)
    said = agent("status")
    assert said["jobs"]["queued"] == 1
    assert said["jobs"]["waiting"]["code"] == agent("jobs.radar")["jobs"][0]["waiting"]["code"]
    assert said["me"]["agent"] == NAMES[0]
    assert said["here"] == [NAMES[1]]
    assert said["inbox"]["due"] == 2


def test_who_is_silent_or_retired_is_not_here(lh: Lh) -> None:
    one, two = client(lh, "one"), client(lh, "two")
    registered(one, "ada")
    bob = registered(two, "bob")
    assert one("status")["here"] == ["bob"]
    two("agents.retire", **bob)
    assert "here" not in one("status")
    registered(two, "cyd")
    lh.clock.advance(3_600_000)
    assert "here" not in one("status")


def test_a_resume_says_what_runs_where_and_since_when_in_which_zone(lh: Lh) -> None:
    agent = a_day(lh)
    facts = agent("tasks.resume.super")["facts"]
    process = next(one for one in facts if one["about"] == "process")
    assert process == {
        "about": "process",
        "text": "database running on port 5432 since 00:00 UTC",
        "ref": "PROC-003",
    }
    held = next(one["text"] for one in facts if one["about"] == "held")
    assert held.endswith("UTC")
