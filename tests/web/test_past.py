"""`?as_of=SEQ`: every view as it was then, marked as past and read-only."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Page, Request, Route, expect

from tests.processes.kit import Runner, ended, out, running
from tests.web.conftest import Visit, World, axe, go

READING = "**/call/*"
VIEWS = ["/", "/sessions", "/jobs", "/work", "/files", "/processes", "/memory", "/history"]


def seq(world: World) -> str:
    return str(world("status")["seq"])


class Day:
    """A short history with two moments: before and after everything changed."""

    def __init__(self, world: World) -> None:
        self.world = world
        otter, harbor = world.agent("amber-otter"), world.agent("cobalt-harbor")
        self.task = world.task("Parser", steps=["Read", "Write"], assignee=otter)
        world.does("agents.reserve", otter, scope="src/parser/*", bead_id=self.task)
        held = world.claimed("Port the parser", task=self.task)
        self.job = held["job"]
        world("jobs.question", **held, message="Keep tabs?")
        world.does(
            "agents.blocked",
            harbor,
            to=otter,
            bead_id=self.task,
            subject="Which key?",
            blocker="No access.",
            requested_action="Grant it.",
        )
        self.before = seq(world)
        world("jobs.message", job=self.job, message="Keep them.")
        world("jobs.complete", **held, status="DONE", summary="All ported.", refs=["CMD: x"])
        (asked,) = world("agents.inbox", agent=otter)["messages"]
        world.does("agents.ack", otter, message=asked["message_id"])
        world.does("agents.release", otter, scope="src/parser/*")
        world("tasks.edit", task=self.task, assignee=harbor)
        world("tasks.step.close", task=self.task, checkpoints="all", proof="CMD: make (exit 0)")
        world("tasks.macro.start", task_title="Written later")
        world("jobs.create", title="Asked for later", prompt="x")


@pytest.fixture
def day(world: World) -> Day:
    return Day(world)


def at(visit: Visit, path: str, moment: str) -> Page:
    page = visit(path, as_of=moment)
    expect(page.get_by_text("You are viewing the past")).to_be_visible()
    expect(page.get_by_text("Loading…")).to_have_count(0)
    return page


def of_the_past(request: Request) -> bool:
    return '"as_of"' in (request.post_data or "")


def held_back(context: BrowserContext) -> list[Route]:
    """Hold back reads of the past from now on; returns those that were held."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        if of_the_past(route.request):
            held.append(route)
        else:
            route.continue_()

    context.route(READING, hold)
    return held


def test_now_shows_who_waited_then_and_takes_no_answer(day: Day, visit: Visit) -> None:
    page = at(visit, "/", day.before)
    expect(page.get_by_role("article").filter(has_text="Keep tabs?")).to_be_visible()
    expect(page.get_by_role("article").filter(has_text="Which key?")).to_be_visible()
    expect(page.get_by_text("holds src/parser/*")).to_be_visible()
    expect(page.locator("#main").get_by_role("textbox")).to_have_count(0)
    expect(page.locator("#main").get_by_role("button")).to_have_count(0)
    page.get_by_role("link", name="Back to now").click()
    expect(page.get_by_text("Nothing is waiting for you.")).to_be_visible()


def test_a_job_shows_what_had_been_said_and_who_held_it(day: Day, visit: Visit) -> None:
    page = at(visit, f"/jobs/{day.job}", day.before)
    pane = page.get_by_role("region", name=f"Job {day.job}")
    expect(pane).to_contain_text("Running")
    expect(pane).to_contain_text("Keep tabs?")
    expect(pane).not_to_contain_text("All ported.")
    expect(pane.get_by_role("region", name="Who holds it")).to_contain_text("rust-1")
    listed = page.get_by_role("region", name="All jobs")
    expect(listed.get_by_role("listitem")).to_have_count(1)
    expect(listed).not_to_contain_text("Asked for later")
    page = at(visit, "/jobs/JOB-002", day.before)
    expect(page.get_by_role("alert")).to_contain_text("JOB-002 did not exist yet")


def talked_about(world: World) -> tuple[str, str]:
    """A job with more events after a moment than one page shows."""
    held = world.claimed("Talked about")
    world("jobs.report", **held, message="said early")
    moment = seq(world)
    for number in range(60):
        world("jobs.report", **held, message=f"said later {number}")
    return held["job"], moment


def test_a_moment_before_much_that_came_later_still_has_its_story(
    world: World, visit: Visit
) -> None:
    job, moment = talked_about(world)
    page = at(visit, f"/jobs/{job}", moment)
    pane = page.get_by_role("region", name=f"Job {job}")
    expect(pane).to_contain_text("said early")
    expect(pane).not_to_contain_text("said later")


def test_a_session_shows_its_conversation_and_owner_of_then(day: Day, visit: Visit) -> None:
    page = at(visit, f"/sessions/{day.task}", day.before)
    card = page.get_by_role("region", name="All sessions").get_by_role("listitem")
    expect(card).to_have_count(1)
    expect(card).to_contain_text("amber-otter")
    expect(card).to_contain_text("Needs input")
    thread = page.get_by_role("list", name="Messages and events")
    expect(thread).to_contain_text("not accepted yet")
    expect(thread).not_to_contain_text("Accepted")


def test_work_shows_steps_and_whose_it_was(day: Day, visit: Visit) -> None:
    page = at(visit, f"/work/{day.task}", day.before)
    pane = page.get_by_role("region", name=f"Task {day.task}")
    expect(pane).to_contain_text("amber-otter")
    steps = pane.get_by_role("list", name="Steps").get_by_role("listitem")
    expect(steps.first).to_contain_text("(open)")
    expect(page.get_by_text("Written later")).to_have_count(0)
    page.get_by_role("link", name="Back to now").click()
    expect(steps.first).to_contain_text("(done)")


def test_files_show_who_held_them(day: Day, visit: Visit) -> None:
    page = at(visit, "/files", day.before)
    expect(page.get_by_text("1 reservation by 1 holder")).to_be_visible()
    expect(page.get_by_text("amber-otter").first).to_be_visible()
    page.get_by_role("link", name="Back to now").click()
    expect(page.get_by_text("No files are reserved.")).to_be_visible()


def test_a_process_shows_what_it_had_printed(world: World, visit: Visit) -> None:
    world("tool.policy_allow", tool="bash", pattern="make test")
    spawn = {"tool": "bash", "args": {"command": "make test"}}
    task = world("tool.task_spawn", **spawn)["task_id"]
    world("workspace.bind")
    runner = Runner(world)  # type: ignore[arg-type]
    runner.claim()
    runner.append(task, running(started_at_ms=1), out(0, "first\n"))
    moment = seq(world)
    runner.append(task, out(6, "second\n"), ended(exit_code=1, ended_at_ms=9_999_999_999_999))
    page = at(visit, f"/processes/{task}", moment)
    pane = page.get_by_role("region", name=f"Process {task}")
    expect(pane).to_contain_text("Running")
    lines = page.get_by_role("log", name="Lines of output").get_by_role("listitem")
    expect(lines).to_have_text(["first"])
    expect(pane.get_by_role("button", name="Stop process")).to_have_count(0)


def test_the_moment_goes_along_from_view_to_view_and_the_title_stays_about_now(
    world: World, day: Day, visit: Visit
) -> None:
    page = at(visit, "/history", day.before)
    page.get_by_role("link", name="Jobs", exact=True).click()
    expect(page.get_by_role("link", name="Port the parser")).to_be_visible()
    expect(page).to_have_url(f"{world.house.url}/jobs?ws={world.workspace}&as_of={day.before}")
    expect(page).to_have_title("Jobs · Longhouse")
    page.get_by_label("Rewind").press("Home")
    expect(page.get_by_text("No open jobs.")).to_be_visible()
    page.get_by_label("Rewind").press("End")
    expect(page.get_by_text("You are viewing the past")).to_have_count(0)
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search or run a command").fill("rewind")
    page.keyboard.press("Enter")
    expect(page.get_by_text("You are viewing the past")).to_be_visible()
    world("jobs.create", title="Came while looking back", prompt="x")
    expect(page.get_by_role("link", name="Came while looking back")).to_have_count(0)


def rewind(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search or run a command").fill("rewind")
    page.keyboard.press("Enter")
    expect(page.get_by_text("You are viewing the past")).to_be_visible()


def test_the_same_moment_of_another_workspace_is_another_past(
    world: World, visit: Visit, context: BrowserContext
) -> None:
    other = World(world.house, f"{world.workspace}-other")
    for place in (world, other):
        place.task("Parser")
    other("jobs.create", title="Only there", prompt="x")
    while int(seq(world)) <= int(seq(other)):
        world("vcs.notes.commit", content="Tabs stay.")
    while int(seq(other)) < int(seq(world)):
        other("vcs.notes.commit", content="Tabs stay.")
    page = visit("/jobs")
    expect(page.locator('[data-link="live"]')).to_have_count(1)
    rewind(page)
    expect(page.get_by_text("No open jobs.")).to_be_visible()
    told = page.get_by_role("status").filter(has_text="You are viewing the past")
    expect(told).to_contain_text("(")
    first = page.url.partition("as_of=")[2]
    page.get_by_label("Workspace").select_option(other.workspace)
    expect(page.get_by_role("link", name="Only there")).to_be_visible()
    expect(page.locator('[data-link="live"]')).to_have_count(1)
    held = held_back(context)
    with page.expect_request(of_the_past):
        rewind(page)
    assert page.url.partition("as_of=")[2] == first
    expect(page.get_by_role("link", name="Only there")).to_have_count(0)
    for one in held:
        one.continue_()
    expect(page.get_by_role("link", name="Only there")).to_be_visible()


@pytest.mark.parametrize(
    "moment, says",
    [
        ("-5", "The as_of in this address is not a row number."),
        ("soon", "The as_of in this address is not a row number."),
        ("99999", "The log has not reached row 99,999 yet."),
    ],
)
def test_what_is_no_moment_of_the_log_is_told_and_shows_nothing_of_now(
    day: Day, visit: Visit, moment: str, says: str
) -> None:
    page = visit("/jobs", as_of=moment)
    main = page.locator("#main")
    expect(main).to_contain_text(says)
    expect(main).not_to_contain_text("Asked for later")
    assert axe(page) == []
    main.get_by_role("link", name="Back to now").click()
    expect(main.get_by_role("link", name="Asked for later")).to_be_visible()


@pytest.mark.parametrize("path", VIEWS)
def test_before_the_first_row_there_was_nothing(day: Day, visit: Visit, path: str) -> None:
    page = at(visit, path, "0")
    expect(page.locator("#main").get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    for later in ("Port the parser", "Keep tabs?", "Which key?", "amber-otter"):
        expect(page.locator("#main")).not_to_contain_text(later)


def test_a_ref_typed_in_any_way_opens_what_it_names_or_that_as_it_was_then(
    day: Day, visit: Visit, world: World
) -> None:
    asked = world("jobs.open", job=day.job)["events"][-1]["seq"]
    page = visit("/")
    expect(page.locator('[data-link="live"]')).to_have_count(1)

    def jump(text: str, choice: str) -> None:
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Search or run a command").fill(text)
        page.get_by_role("option", name=choice, exact=True).click()

    jump(f"job-1@{asked}", f"Open JOB-001@{asked}")
    pane = page.get_by_role("region", name="Job JOB-001")
    expect(pane.locator("[data-marked]")).to_contain_text(f"JOB-001@{asked}")
    expect(pane).to_contain_text("All ported.")
    jump(f"job-001@{asked}", f"Open JOB-001 as it was at {asked}")
    expect(page.get_by_text("You are viewing the past")).to_be_visible()
    expect(pane).not_to_contain_text("All ported.")
    jump(f"runner:rust-1@{asked}", f"Open runner:rust-1@{asked}")
    expect(page.get_by_role("dialog", name=str(asked))).to_be_visible()


def test_a_row_of_a_job_that_is_not_shown_any_more_is_one_click_away(
    world: World, visit: Visit
) -> None:
    job, early = talked_about(world)
    page = visit(f"/jobs/{job}", at=early)
    page.get_by_role("link", name="See the job as it was then").click()
    expect(page.locator("[data-marked]")).to_contain_text("said early")


def test_what_the_crew_says_of_a_job_does_not_hide_how_far_it_was(
    world: World, visit: Visit
) -> None:
    held = world.claimed()
    otter = world.agent("amber-otter")
    world("jobs.report", **held, message="Tables done.", percent=40)
    world.does("agents.reserve", otter, scope="src/*", bead_id=held["job"])
    page = at(visit, f"/jobs/{held['job']}", seq(world))
    pane = page.get_by_role("region", name=f"Job {held['job']}")
    expect(pane.locator("header")).to_contain_text("40%")


def test_a_moment_that_was_left_while_it_was_read_is_read_again_without_an_error(
    day: Day, visit: Visit, context: BrowserContext
) -> None:
    page = visit("/history")
    expect(page.locator('[data-link="live"]')).to_have_count(1)
    held = held_back(context)
    earlier = str(int(day.before) - 1)
    for moment in (day.before, earlier):
        with page.expect_request(of_the_past):
            go(page, f"/jobs?ws={day.world.workspace}&as_of={moment}")
    go(page, f"/jobs?ws={day.world.workspace}&as_of={day.before}")
    expect(page.get_by_text("Loading…").first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    for one in held:
        one.continue_()
    expect(page.get_by_role("link", name="Port the parser")).to_be_visible()


def test_a_server_that_cannot_be_reached_is_told_in_words(
    day: Day, visit: Visit, context: BrowserContext
) -> None:
    page = visit("/history")
    expect(page.locator('[data-link="live"]')).to_have_count(1)
    context.route(
        READING,
        lambda route: route.abort() if of_the_past(route.request) else route.continue_(),
    )
    go(page, f"/jobs?ws={day.world.workspace}&as_of={day.before}")
    expect(page.get_by_role("alert").first).to_contain_text("The server is not responding.")


def test_a_job_that_was_canceled_and_begun_again_shows_why_it_was_canceled(
    world: World, visit: Visit
) -> None:
    held = world.claimed()
    world("jobs.complete", **held, status="DONE", summary="All ported.", refs=["CMD: x"])
    for reason in ("Not needed.", None):
        world("jobs.requeue", job=held["job"])
        world("jobs.cancel", job=held["job"], reason=reason)
        moment = seq(world)
        world("jobs.requeue", job=held["job"])
        world("jobs.cancel", job=held["job"], reason="Over.")
        page = at(visit, f"/jobs/{held['job']}", moment)
        head = page.get_by_role("region", name=f"Job {held['job']}").locator("header")
        expect(head.get_by_text("Canceled", exact=True)).to_be_visible()
        expect(head).to_contain_text(reason or "")
        for other in ("All ported.", "canceled", "Over."):
            expect(head).not_to_contain_text(other)


@pytest.mark.parametrize("path", VIEWS)
def test_no_view_of_the_past_has_a_barrier_or_an_act(day: Day, visit: Visit, path: str) -> None:
    page = at(visit, path, day.before)
    assert axe(page) == []
    acts = page.locator("#main").locator("textarea, [data-kind=main], [data-kind=danger]")
    expect(acts).to_have_count(0)
