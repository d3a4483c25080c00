"""History: the log as it grows, filtered, opened row by row, and rewound."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.processes.kit import Runner, out, running
from tests.web.conftest import Visit, World, fits_a_phone

WINDOW = 300
"""How many log rows a tab starts with."""


def rows(page: Page) -> Locator:
    return page.get_by_label("History, newest first").get_by_role("listitem")


def test_what_happens_is_shown_as_it_happens_and_can_be_filtered(
    world: World, visit: Visit
) -> None:
    otter, harbor = world.agent("amber-otter"), world.agent("cobalt-harbor")
    task = world.task("Parser", agent_id="lead")
    page = visit("/history")
    expect(rows(page).last).to_contain_text("registered")
    world.does("agents.reserve", otter, scope="src/*", bead_id=task, agent_id=otter)
    expect(rows(page).first).to_contain_text("src/*")
    world("jobs.create", title="Lint", prompt="x", agent_id=harbor)
    expect(rows(page).first).to_contain_text("Lint")
    page.get_by_label("By", exact=True).fill("otter")
    expect(rows(page).first).to_contain_text("src/*")
    expect(rows(page).filter(has_text="Lint")).to_have_count(0)
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("About").fill("job-001")
    expect(rows(page)).to_have_count(1)
    page.get_by_label("Kind").fill("no such kind")
    expect(page.get_by_text("No row matches.")).to_be_visible()
    page.reload()
    expect(page.get_by_label("About")).to_have_value("job-001")


def test_a_row_is_opened_and_the_log_is_rewound_to_it(world: World, visit: Visit) -> None:
    world("jobs.create", title="First", prompt="x")
    world("jobs.create", title="Second", prompt="x")
    page = visit("/history")
    rows(page).filter(has_text="First").get_by_role("link").first.click()
    drawer = page.get_by_role("dialog")
    expect(drawer).to_contain_text('"message": "First"')
    drawer.get_by_role("link", name="Rewind to here").click()
    expect(page.get_by_text("You are viewing the past, as of")).to_be_visible()
    expect(rows(page).first).to_contain_text("First")
    expect(rows(page).filter(has_text="Second")).to_have_count(0)
    world("jobs.create", title="Third", prompt="x")
    page.get_by_role("link", name="Back to now").click()
    expect(rows(page).first).to_contain_text("Third")
    page.get_by_label("Rewind").press("Home")
    expect(rows(page)).to_have_count(1)
    expect(page).to_have_url(f"{world.house.url}/history?ws={world.workspace}&as_of=1")


def test_on_a_phone_an_open_row_about_a_long_name_is_not_cut_off(
    world: World, visit: Visit
) -> None:
    world("system.init")
    world("vcs.notes.commit", content="All of it.", doc="a-long-name-" * 6)
    page = visit("/history")
    rows(page).filter(has_text="note").get_by_role("link").first.click()
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_role("link", name="All rows about a-long-name-")).to_be_visible()
    fits_a_phone(page)
    assert drawer.evaluate("(shown) => shown.scrollWidth <= shown.clientWidth")


def test_a_long_log_is_read_back_as_far_as_a_filter_needs(world: World, visit: Visit) -> None:
    first = world("jobs.create", title="Long ago", prompt="x")["job"]["id"]
    for number in range(WINDOW + 20):
        world("vcs.notes.commit", content=f"Note {number}")
    page = visit("/history")
    expect(rows(page).first).to_contain_text(f"open row {WINDOW + 21}")
    assert rows(page).count() < 80  # of several hundred: only the visible ones are rendered
    rows(page).first.get_by_role("link").first.click()
    page.get_by_role("dialog").get_by_role("link", name="notes@").click()
    expect(page.get_by_role("region", name="notes").locator("[data-chosen]")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_label("About").fill(first)
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("Long ago")


def test_output_of_processes_shows_only_where_processes_are_asked_for(
    world: World, visit: Visit
) -> None:
    world("tool.policy_allow", tool="bash", pattern="make test")
    spawn = {"tool": "bash", "args": {"command": "make test"}}
    task = world("tool.task_spawn", **spawn)["task_id"]
    host = {"runner_id": "runner-1", "host_id": "host-3f9a1c07"}
    world("workspace.bind")
    revision = world("tool.task_held", **host)["revision"]
    world("tool.task_claim", revision=revision, **host)
    seq = world("tool.task_status", task_id=task)["task"]["next_seq"]
    world(
        "tool.task_append",
        task_id=task,
        runner_id="runner-1",
        revision=revision,
        base_seq=seq,
        frames=[running(), out(0, "214 passed\n")],
    )
    page = visit("/history", item=task)
    expect(rows(page).first).to_contain_text("status")
    expect(page.get_by_text("214 passed")).to_have_count(0)
    page.get_by_label("Room").select_option("Processes")
    expect(rows(page).first).to_contain_text("214 passed")


def test_what_happened_long_ago_is_found_in_the_whole_log(world: World, visit: Visit) -> None:
    job = world("jobs.create", title="Lint", prompt="x")["job"]["id"]
    world("jobs.cancel", job=job, reason="wrong branch", agent_id="ada")
    world("tool.policy_allow", tool="bash", pattern="make test")
    task = world("tool.task_spawn", tool="bash", args={"command": "make test"})["task_id"]
    world("workspace.bind")
    runner = Runner(world)  # type: ignore[arg-type]
    runner.claim()
    runner.append(task, running())
    for page_of in range(84):
        frames = [out(2 * (64 * page_of + n), "x\n") for n in range(64)]
        runner.append(task, *frames)
    assert world("status")["seq"] > 5_300
    page = visit("/history", kind="canceled")
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("wrong branch")
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("By", exact=True).fill("ada")
    expect(rows(page)).to_contain_text("wrong branch")
    page.get_by_label("By", exact=True).fill("nobody")
    expect(page.get_by_text("No row matches.")).to_be_visible()
    expect(page.get_by_text("The whole log was searched.")).to_be_visible()
