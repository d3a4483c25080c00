"""Processes: the list, one process with its live output and its end, and refusals by policy."""

from __future__ import annotations

from typing import Any, cast

import pytest
from playwright.sync_api import Locator, Page, expect

from longhouse.kernel.tool_tasks import task_folder
from tests.processes.kit import Runner, ended, out, running
from tests.web.conftest import Visit, World, axe, send

MANY = 9_000


class Host(Runner):
    """Plays the runner of the world's processes."""

    def __init__(self, world: World) -> None:
        super().__init__(cast(Any, world))
        self.world = world
        world("tool.policy_allow", tool="bash", pattern="*")
        world("workspace.bind")
        self.hold()

    def begin(self, command: str = "make test", **more: Any) -> str:
        spawn = {"tool": "bash", "args": {"command": command}, **more}
        task: str = self.world("tool.task_spawn", **spawn)["task_id"]
        self.claim()
        self.append(task, running())
        return task


@pytest.fixture
def host(world: World) -> Host:
    return Host(world)


def lines(page: Page) -> Locator:
    return page.get_by_role("log", name="Lines of output").get_by_role("listitem")


def test_processes_are_listed_with_whose_they_are_and_found_again(
    world: World, host: Host, visit: Visit
) -> None:
    job = world("jobs.create", title="Lint", prompt="x")["job"]["id"]
    dev = host.begin("npm run dev", name="dev", agent_id="amber-otter", job=job)
    host.append(dev, {"type": "tool_task_ports", "ports": [5173]})
    page = visit("/processes")
    listed = page.get_by_label("Processes", exact=True).get_by_role("listitem")
    expect(listed).to_have_count(1)
    for said in ("dev", "npm run dev", dev, "amber-otter", job, "port 5173", "Running"):
        expect(listed.first).to_contain_text(said)
    tests = host.begin("make test", agent_id="cobalt-harbor")
    expect(listed).to_have_count(2)
    host.append(tests, ended(exit_code=2))
    expect(listed.first).to_contain_text("Exit code 2")
    page.get_by_role("button", name="Active").click()
    expect(listed).to_have_count(1)
    expect(listed).to_contain_text("npm run dev")
    page.get_by_role("button", name="All", exact=True).click()
    page.get_by_label("Name, command, owner").fill("harbor")
    expect(listed).to_have_count(1)
    listed.first.get_by_role("link").click()
    expect(page.get_by_role("region", name=f"Process {tests}")).to_be_visible()
    assert "find=harbor" in page.url


def test_output_comes_as_it_is_written_with_both_streams_told_apart(
    host: Host, visit: Visit
) -> None:
    task = host.begin()
    host.append(task, out(0, "\x1b[32mok\x1b[0m one\nhalf of "))
    page = visit(f"/processes/{task}")
    expect(lines(page)).to_have_text(["ok one", "half of "])
    expect(lines(page).first.locator('[data-colour="2"]')).to_have_text("ok")
    host.append(task, out(0, "warn: slow\n", "stderr"), out(24, "it\n10 %\r90 %\n"))
    expect(lines(page)).to_have_text(["ok one", "half of it", "err warn: slow", "90 %"])
    for at, drawn in ((37, "10 %\r"), (42, "50 %\r"), (47, "99")):
        host.append(task, out(at, drawn))
    expect(lines(page).last).to_have_text("99")
    page.get_by_role("button", name="stderr").click()
    expect(lines(page)).to_have_text(["err warn: slow"])
    host.append(task, ended(exit_code=0))
    expect(page.get_by_role("region", name=f"Process {task}")).to_contain_text("Exit code 0")


def test_a_long_output_is_followed_searched_and_read_back(
    world: World, host: Host, visit: Visit
) -> None:
    task = host.begin()
    folder = task_folder(world.house.dir, world.workspace, task)
    folder.mkdir(parents=True, mode=0o700)
    text = "".join(f"line {number}\n" for number in range(MANY))
    (folder / "stdout.log").write_text(text)
    half = text.index("line 4500\n")
    host.append(
        task,
        {"type": "tool_stdout", "offset_bytes": 0, "bytes": half},
        {"type": "tool_stdout", "offset_bytes": half, "bytes": len(text) - half},
    )
    page = visit(f"/processes/{task}")
    expect(lines(page).last).to_have_text(f"line {MANY - 1}")
    assert lines(page).count() < 120
    host.append(task, out(len(text), "the newest\n"))
    expect(lines(page).last).to_have_text("the newest")
    page.get_by_label("Find in the output").fill("line 5000")
    expect(page.get_by_text("1 of 1", exact=True)).to_be_visible()
    expect(lines(page).locator("mark")).to_have_text("line 5000")
    host.append(task, out(len(text) + 11, "still newer\n"))
    expect(lines(page).locator("mark")).to_be_in_viewport()  # new output does not scroll it away
    page.get_by_role("button", name="Follow").click()
    expect(lines(page).last).to_have_text("still newer")


def test_what_was_not_kept_is_said_where_it_would_be(
    world: World, host: Host, visit: Visit
) -> None:
    task = host.begin()
    folder = task_folder(world.house.dir, world.workspace, task)
    folder.mkdir(parents=True, mode=0o700)
    kept = "the beginning\n"
    (folder / "stdout.log").write_text(kept + "\0" * 40_000 + " the end\n")
    (folder / "stdout.gap").write_text(f"{len(kept)} {len(kept) + 40_000}")
    total = len(kept) + 40_000 + 9
    host.append(task, {"type": "tool_stdout", "offset_bytes": 0, "bytes": total})
    page = visit(f"/processes/{task}")
    expect(lines(page)).to_have_text(
        ["the beginning", "40 kB not kept (bytes 14 to 40,014 of stdout)", " the end"]
    )


def test_a_process_is_stopped_after_a_second_word_and_started_again(
    world: World, host: Host, visit: Visit
) -> None:
    job = world("jobs.create", title="Lint", prompt="x")["job"]["id"]
    task = host.begin(job=job, lifetime="job")
    page = visit(f"/processes/{task}")
    page.get_by_role("button", name="Stop process").click()
    assert world("tool.task_status", task_id=task)["task"]["cancel_reason"] is None
    send(page, page.get_by_role("button", name="Really stop?"), "tool.task_cancel")
    expect(page.get_by_role("region", name=f"Process {task}")).to_contain_text("Stopping")
    host.append(
        task,
        {"type": "tool_task_cancelled", "reason": "stopped from the web page", "wall_time_ms": 1},
        ended("cancelled", None),
    )
    send(page, page.get_by_role("button", name="Start again"), "tool.task_spawn")
    again = page.get_by_role("region", name="Process PROC-002")
    expect(again).to_contain_text("Waiting for a runner")
    expect(again).to_contain_text("make test")
    expect(again).to_contain_text("with its job")


def test_a_refusal_by_policy_names_its_rule_and_how_it_is_lifted(
    world: World, visit: Visit
) -> None:
    spawn = {"tool": "bash", "args": {"command": "rm -rf build"}, "workspace": world.workspace}
    refused = world.house.post("tool.task_spawn", **spawn).json()["error"]
    assert refused["code"] == "POLICY_DENIED"
    page = visit("/processes/PROC-001")
    why = page.get_by_role("note", name="Why it failed")
    expect(why).to_contain_text("Policy refused to start it.")
    expect(why).to_contain_text(refused["message"].partition(": ")[2])
    expect(why.get_by_text(refused["message"].partition(":")[0], exact=True)).to_be_visible()
    expect(why).to_contain_text("longhouse policy allow bash 'rm -rf build'")
    assert axe(page) == []


@pytest.mark.parametrize("role", ["viewer", "agent"])
def test_who_did_not_start_it_reads_the_output_and_has_no_button(
    world: World, host: Host, visit: Visit, role: str
) -> None:
    task = host.begin()
    host.append(task, out(0, "214 passed\n"))
    token, _ = world.house.new_token(role)
    page = visit(f"/processes/{task}", token=token)
    expect(lines(page)).to_have_text(["214 passed"])
    for name in ("Stop process", "Start again"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
