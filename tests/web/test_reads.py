"""Reads: shared only by tabs with the same token, and never older than the log."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import BrowserContext, Locator, Page, Response, Route, expect

from tests.web.conftest import Visit, World

OPEN = "**/call/jobs.open*"
STATUS = "**/call/status*"
EVENTS = "**/events*"
SIGN_IN = "token => { location.hash = `token=${token}` }"
LONGER = 10_000
"""How many more rows the log appears to have."""


def in_thread(page: Page, text: str) -> Locator:
    return page.get_by_role("list", name="Events").get_by_text(text)


def cut_off(tab: Page, world: World, held: dict[str, Any]) -> None:
    """From here on, the tab cannot open the job. Only one read runs at a time, so once one has
    failed, no earlier one can still be answered."""
    tab.route(OPEN, lambda route: route.abort())
    with tab.expect_event("requestfailed", lambda request: "jobs.open" in request.url):
        world("jobs.report", **held, message="it is begun")


def test_a_tab_takes_what_another_has_read_instead_of_asking_for_it(
    world: World, visit: Visit
) -> None:
    held = world.claimed()
    reads, hears = visit("/jobs/JOB-001"), visit("/jobs/JOB-001")
    for page in (reads, hears):
        expect(in_thread(page, "Claimed")).to_be_visible()
    hears.route(OPEN, lambda route: route.abort())
    world("jobs.report", **held, message="half of it is read")
    expect(in_thread(hears, "half of it is read")).to_be_visible()


def test_a_tab_never_takes_what_was_answered_to_another_token(world: World, visit: Visit) -> None:
    held = world.claimed()
    token, _ = world.house.new_token("viewer")
    reads, other = visit("/jobs/JOB-001"), visit("/jobs/JOB-001", token=token)
    for page in (reads, other):
        expect(in_thread(page, "Claimed")).to_be_visible()
    cut_off(other, world, held)
    for message in ("half of it is read", "all of it is read"):
        world("jobs.report", **held, message=message)
        expect(in_thread(reads, message)).to_be_visible()
    expect(in_thread(other, "half of it is read")).to_have_count(0)


class Held:
    """Holds the first request to an address until it is let go; others pass or fail."""

    def __init__(self, page: Page, address: str, *, others_fail: bool = False) -> None:
        self._page = page
        self._first: Route | None = None
        self._others_fail = others_fail
        self._address = address
        page.route(address, self._take)

    def _take(self, route: Route) -> None:
        if self._first is None:
            self._first = route
        elif self._others_fail:
            route.abort()
        else:
            route.continue_()

    def let_go(self) -> Response:
        assert self._first is not None
        with self._page.expect_response(self._address) as answered:
            self._first.continue_()
        return answered.value


def seem_longer(route: Route) -> None:
    """Answer like a server whose log has more rows."""
    answer = route.fetch()
    said: dict[str, Any] = answer.json()
    said["result"]["seq"] += LONGER
    route.fulfill(response=answer, json=said)


def test_whoever_signs_in_with_another_token_sees_nothing_that_was_answered_to_the_first(
    world: World, visit: Visit
) -> None:
    held = world.claimed()
    token, _ = world.house.new_token("viewer")
    page, other = visit("/jobs/JOB-001"), visit("/jobs/JOB-001", token=token)
    for tab in (page, other):
        expect(in_thread(tab, "Claimed")).to_be_visible()
    cut_off(other, world, held)
    expect(in_thread(page, "it is begun")).to_be_visible()
    opening = Held(page, OPEN, others_fail=True)
    with page.expect_request(OPEN):
        world("jobs.report", **held, message="half of it is read")
    page.evaluate(SIGN_IN, token)
    expect(page.get_by_text("The server is not responding.")).to_be_visible()
    expect(in_thread(page, "Claimed")).to_have_count(0)
    opening.let_go().finished()
    for tab in (page, other):
        expect(in_thread(tab, "half of it is read")).to_have_count(0)


def test_a_token_given_while_another_is_looked_up_is_the_one_that_counts(
    world: World, visit: Visit
) -> None:
    world("jobs.question", **world.claimed(), message="Keep tabs?")
    token, _ = world.house.new_token("viewer")
    page = visit("/")
    card = page.get_by_role("article")
    expect(card.get_by_role("textbox")).to_have_count(1)
    looking_up = Held(page, "**/api/me")
    with page.expect_request("**/api/me"):
        page.reload()
    page.evaluate(SIGN_IN, token)
    looking_up.let_go()
    expect(card).to_contain_text("Keep tabs?")
    expect(card.get_by_role("textbox")).to_have_count(0)


def test_an_answer_that_was_asked_for_before_the_log_began_anew_outranks_no_later_one(
    world: World, visit: Visit
) -> None:
    held = world.claimed()
    page = visit("/history")
    expect(page.locator('[data-link="live"]')).to_have_count(1)
    page.route(STATUS, seem_longer, times=1)
    opening, following = Held(page, OPEN), Held(page, EVENTS)
    with page.expect_request(OPEN):
        page.goto(f"{world.house.url}/jobs/JOB-001?ws={world.workspace}")
    refused = following.let_go()
    assert refused.status == 400  # the log is shorter than what the page has read
    expect(page.locator('[data-link="live"]')).to_have_count(1)
    opening.let_go()
    expect(in_thread(page, "Claimed")).to_be_visible()
    world("jobs.report", **held, message="half of it is read")
    expect(in_thread(page, "half of it is read")).to_be_visible()


def test_an_answer_from_a_tab_that_knows_a_longer_log_outranks_no_later_one(
    world: World, context: BrowserContext, visit: Visit
) -> None:
    held = world.claimed()
    page = visit("/jobs/JOB-001")
    expect(page.locator('[data-link="live"]')).to_have_count(1)
    context.route(STATUS, seem_longer, times=1)
    other = visit("/jobs/JOB-001")
    expect(in_thread(other, "Claimed")).to_be_visible()
    world("jobs.report", **held, message="half of it is read")
    expect(in_thread(page, "half of it is read")).to_be_visible()
