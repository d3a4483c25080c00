"""The page's frame: sign-in, roles, one stream for all tabs, lost connections, drafts, keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from longhouse.jobs.states import STATUSES
from longhouse.work.states import Status
from tests.runner.processes import until
from tests.web.conftest import Visit, World, axe, fits_a_phone
from tools.page import MOST_INITIAL, STATIC, initial_bytes

VIEWS = [
    "/",
    "/jobs",
    "/jobs/JOB-001",
    "/sessions",
    "/sessions/TASK-001",
    "/work",
    "/work?show=board",
    "/work/TASK-001",
    "/files",
    "/processes",
    "/processes/PROC-001",
    "/memory",
    "/history",
]

CODE = re.compile(r"[A-Za-z]+_[A-Za-z_]+|HANDOFF|BLOCKED|INCURSION|RESUME")
"""Internal names: an identifier with underscores, or an event kind."""
STATES = {*STATUSES, *get_args(Status)}
"""States as the protocol writes them; a person reads `Running`."""
FORGOTTEN_MS = 31_000
"""After this long, the page drops reads that it no longer shows."""


def await_streams(world: World, count: int) -> None:
    """Wait until the server has that many streams: it notices a closed one with a delay."""
    until(lambda: world.house.metric("longhouse_sse_subscribers") == count, f"{count} streams")


def test_the_printed_address_signs_in_and_leaves_no_token_in_the_address(
    world: World, context: BrowserContext, visit: Visit
) -> None:
    page = visit("/")
    expect(page.get_by_role("heading", name="Now")).to_be_visible()
    assert "token" not in page.url
    other = context.new_page()
    other.goto(f"{world.house.url}/")
    expect(other.get_by_role("heading", name="Now")).to_be_visible()


def test_without_a_token_the_page_says_how_to_sign_in(
    world: World, context: BrowserContext
) -> None:
    page = context.new_page()
    page.goto(f"{world.house.url}/")
    expect(page.get_by_text("longhouse up")).to_be_visible()
    page.get_by_label("Token").fill("lh_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("does not accept this token")
    page.get_by_label("Token").fill(world.house.token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Now")).to_be_visible()


def test_who_signs_out_and_in_again_still_sees_what_happens_later(
    world: World, context: BrowserContext, visit: Visit
) -> None:
    world("jobs.create", title="Port the parser", prompt="x")
    context.clock.install()
    page = visit("/jobs", status="QUEUED")
    listed = page.get_by_role("region", name="All jobs").get_by_role("listitem")
    expect(listed).to_have_count(1)
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search or run a command").fill("sign out")
    page.keyboard.press("Enter")
    page.get_by_label("Token").fill(world.house.token)
    page.get_by_role("button", name="Sign in").click()
    expect(listed).to_have_count(1)
    settled(page)
    page.clock.fast_forward(FORGOTTEN_MS)
    world("jobs.create", title="Asked for later", prompt="x")
    expect(listed).to_have_count(2)


def test_a_viewer_sees_everything_and_no_button_that_would_be_refused(
    world: World, visit: Visit
) -> None:
    world("jobs.question", **world.claimed(), message="Keep tabs?")
    token, _ = world.house.new_token("viewer")
    page = visit("/", token=token)
    card = page.get_by_role("article")
    expect(card).to_contain_text("Keep tabs?")
    expect(card.get_by_role("button")).to_have_count(0)
    expect(card.get_by_role("textbox")).to_have_count(0)


@pytest.mark.proves("OPS-061")
def test_ten_tabs_are_all_live_over_one_stream(world: World, visit: Visit) -> None:
    held = world.claimed()
    await_streams(world, 0)  # those of earlier tests have closed
    pages = [visit("/") for _ in range(10)]
    for page in pages:
        expect(page.locator('[data-link="live"]')).to_have_count(1)
    await_streams(world, 1)
    world("jobs.question", **held, message="Does everybody see this?")
    for page in pages:
        expect(page.get_by_role("article")).to_contain_text("Does everybody see this?")
    pages[0].close()
    world("jobs.message", job=held["job"], message="Yes.")
    for page in pages[1:]:
        expect(page.get_by_text("Nothing is waiting for you.")).to_be_visible()
    await_streams(world, 1)


def test_a_page_that_was_cut_off_says_so_and_goes_on_without_a_gap(
    world: World, context: BrowserContext, visit: Visit
) -> None:
    held = world.claimed()
    page = visit("/")
    settled(page)
    context.set_offline(True)
    expect(page.get_by_role("alert")).to_contain_text("Disconnected")
    world("jobs.question", **held, message="Asked while nobody heard.")
    page.get_by_role("button", name="Retry now").click()
    expect(page.get_by_role("alert")).to_contain_text("Disconnected")
    context.set_offline(False)
    expect(page.get_by_role("article")).to_have_count(1)
    expect(page.get_by_role("article")).to_contain_text("Asked while nobody heard.")
    since = page.get_by_role("region", name="Since you last looked")
    expect(since.get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_what_was_typed_survives_a_reload_and_a_refusal(world: World, visit: Visit) -> None:
    held = world.claimed()
    world("jobs.question", **held, message="Keep tabs?")
    page = visit("/")
    page.get_by_label("Answer JOB-001").fill("A long and careful answer")
    page.reload()
    expect(page.get_by_label("Answer JOB-001")).to_have_value("A long and careful answer")
    page.route("**/call/jobs.message*", lambda route: route.fulfill(status=403, json=REFUSAL))
    page.get_by_label("Answer JOB-001").press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("Not today.")
    expect(page.get_by_label("Answer JOB-001")).to_have_value("A long and careful answer")


REFUSAL = {
    "success": False,
    "error": {"code": "FORBIDDEN", "message": "Not today.", "recovery": None, "retryable": False},
}


def test_an_answer_sent_twice_by_a_broken_wire_counts_once(world: World, visit: Visit) -> None:
    held = world.claimed()
    world("jobs.question", **held, message="Keep tabs?")
    page = visit("/")
    tries: list[str] = []

    def lose_the_first_answer(route: Route) -> None:
        sent = route.request.post_data_json
        assert sent
        tries.append(sent["idempotency_key"])
        if len(tries) == 1:
            route.fetch()  # it arrives and runs; only the response is lost
            route.abort()
        else:
            route.continue_()

    page.route("**/call/jobs.message*", lose_the_first_answer)
    page.get_by_label("Answer JOB-001").fill("Once.")
    with page.expect_response("**/call/jobs.message*"):
        page.get_by_role("button", name="Answer").click()
    expect(page.get_by_text("Nothing is waiting for you.")).to_be_visible()
    assert len(tries) == 2
    assert len(set(tries)) == 1
    kinds = [event["kind"] for event in world("jobs.open", job="JOB-001")["events"]]
    assert kinds.count("manager") == 1


def test_text_of_agents_is_shown_and_never_run(world: World, visit: Visit) -> None:
    held = world.claimed("<img src=x onerror=alert(1)>")
    hostile = (
        "See [ok](https://example.com) <script>alert(1)</script> <img src=x onerror=alert(2)> "
        "[click](javascript:alert(3)) ![p](https://evil.example/pixel.png)"
    )
    world("jobs.question", **held, message=hostile)
    page = visit("/")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    card = page.get_by_role("article")
    expect(card.get_by_text("<script>alert(1)</script>")).to_be_visible()
    expect(card.get_by_role("link", name="ok", exact=True)).to_have_attribute(
        "rel", "noopener noreferrer nofollow"
    )
    assert page.locator("article img, article script").count() == 0
    assert page.locator('article a[href^="javascript"]').count() == 0
    assert not [url for url in asked if "evil" in url]


def test_everything_is_reached_from_the_keyboard(world: World, visit: Visit) -> None:
    world("jobs.question", **world.claimed("Port the parser"), message="Keep tabs?")
    page = visit("/")
    expect(page.get_by_role("article")).to_be_visible()
    page.keyboard.press("j")
    expect(page.get_by_role("article").get_by_role("link").first).to_be_focused()
    page.keyboard.press("Control+k")
    palette = page.get_by_role("combobox", name="Search or run a command")
    expect(palette).to_be_focused()
    palette.fill("theme")
    palette.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("article").get_by_role("link").first).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("article").get_by_role("link").first).to_be_focused()


def test_the_past_is_marked_and_read_only(world: World, visit: Visit) -> None:
    world("jobs.question", **world.claimed(), message="Keep tabs?")
    page = visit("/", as_of="3")
    expect(page.get_by_text("You are viewing the past")).to_be_visible()
    expect(page.get_by_role("textbox")).to_have_count(0)
    page.get_by_role("link", name="Back to now").click()
    expect(page.get_by_role("textbox")).to_have_count(1)


@pytest.mark.proves("OPS-003")
@pytest.mark.parametrize("path", VIEWS)
def test_a_view_has_no_barrier_in_light_and_dark_and_fits_a_phone(
    world: World, visit: Visit, path: str
) -> None:
    furnish(world)
    page = visit(path)
    settled(page)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert axe(page) == []
    fits_a_phone(page)
    expect(page.get_by_role("button", name="Search", exact=True)).to_be_visible()
    words = page.locator("body").inner_text()
    assert not [jargon for jargon in ("operative", "bead", "polecat") if jargon in words.lower()]
    assert CODE.findall(words) == []
    written = page.locator("body").evaluate(
        _WRITTEN
    )  # as it stands, whatever the style makes of it
    assert not STATES & set(re.findall(r"\b[A-Z]{4,}\b(?!-)", written))


_WRITTEN = """body => {
  const walk = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walk.nextNode()) {
    if (!walk.currentNode.parentElement.closest("script, style, template"))
      found.push(walk.currentNode.data);
  }
  return found.join(" ");
}"""


def settled(page: Page) -> None:
    """Wait until the view has loaded."""
    expect(page.locator('[data-link="live"]')).to_have_count(1)
    expect(page.get_by_text("Loading…")).to_have_count(0)


def furnish(world: World) -> None:
    """A little of everything."""
    otter, harbor = world.agent("amber-otter"), world.agent("cobalt-harbor")
    task = world.task("Parser", steps=["Read", "Write"], assignee=otter)
    world.does("agents.reserve", otter, scope="src/*", bead_id=task)
    world.does(
        "agents.blocked",
        otter,
        to=harbor,
        bead_id=task,
        subject="Which key?",
        blocker="No access.",
        requested_action="Grant it.",
    )
    world("jobs.question", **world.claimed("Port the parser", task=task), message="Keep tabs?")
    world("jobs.report", **world.claimed("Fix the test"), message="half way", percent=50)
    world("jobs.complete", **world.claimed("Lint"), status="FAILED", summary="No Node here.")
    world("jobs.complete", **world.claimed("Format"), status="DONE", summary="Formatted.")
    ended = world("jobs.create", title="Publish", prompt="Publish it.")["job"]["id"]
    world("jobs.cancel", job=ended, reason="Not yet.")
    world("jobs.create", title="Wait", prompt="Wait for it.")
    world("tool.policy_allow", tool="bash", pattern="make dev")
    world("tool.task_spawn", tool="bash", args={"command": "make dev"}, name="dev", agent_id=otter)


def test_the_first_view_stays_within_its_budget_of_script() -> None:
    assert 0 < initial_bytes(STATIC) <= MOST_INITIAL
    assert not list(Path(STATIC).glob("**/*.map"))
