"""Sessions: who works on what, and the conversation about each work item in plain words."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.web.conftest import Visit, World, send


@pytest.mark.proves("OPS-048", "OPS-049", "OPS-050", "OPS-061")
def test_hand_offs_and_calls_for_help_are_said_in_plain_words_as_they_happen(
    world: World, visit: Visit
) -> None:
    otter, harbor = world.agent("amber-otter"), world.agent("cobalt-harbor")
    task = world.task("Parser", assignee=otter)
    page = visit(f"/sessions/{task}")
    thread = page.get_by_role("list", name="Messages and events")
    about = {"to": harbor, "bead_id": task}
    passed = world.does(
        "agents.handoff", otter, **about, subject="Parser", summary="It reads.", next_action="Ship."
    )
    rows = thread.get_by_role("listitem")
    expect(rows.filter(has_text="Passed to").filter(has_text="It reads.")).to_be_visible()
    world.does(
        "agents.blocked", otter, **about, subject="Key", blocker="None.", requested_action="Grant."
    )
    expect(rows.filter(has_text="Needs input").filter(has_text="Key")).to_be_visible()
    message = passed["message"]["message_id"]
    world.does("agents.read", harbor, message=message)
    passed_on = rows.filter(has_text="Passed to")
    expect(passed_on.get_by_text("Seen", exact=True)).to_be_visible()
    world.does("agents.ack", harbor, message=message)
    expect(passed_on.get_by_text("Accepted", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Parser")).to_contain_text("Needs input")
    assert "HANDOFF" not in page.locator("body").inner_text()
    assert "BLOCKED" not in page.locator("body").inner_text()


@pytest.mark.proves("OPS-051")
def test_incursions_and_resumptions_are_rows_of_the_conversation(
    world: World, visit: Visit
) -> None:
    otter, harbor = world.agent("amber-otter"), world.agent("cobalt-harbor")
    task = world.task("Parser", assignee=otter)
    world("tasks.complete", task=task, status="ACTIVE")
    world.does("agents.reserve", otter, scope="src/*", bead_id=task)
    world.house.post(
        "agents.reserve",
        workspace=world.workspace,
        agent=harbor,
        agent_token=world.tokens[harbor],
        scope="src/a.py",
        bead_id=task,
    )
    world("agents.adopt", agent=otter, agent_token=world.tokens[otter])
    page = visit(f"/sessions/{task}")
    rows = page.get_by_role("list", name="Messages and events").locator('[data-type="protocol"]')
    expect(rows.filter(has_text="Reservation conflict with amber-otter")).to_contain_text(
        "conflicts with the holder, amber-otter, over src/a.py"
    )
    expect(rows.filter(has_text="Resumed")).to_contain_text("continues as amber-otter")
    expect(page.get_by_text("1 reservation conflict")).to_be_visible()


@pytest.mark.proves("OPS-060")
@pytest.mark.parametrize("state, words", [("stale", "Stale"), ("evicted", "Evicted")])
def test_sessions_show_who_fell_silent_and_who_was_in_the_way(
    world: World, context: BrowserContext, visit: Visit, state: str, words: str
) -> None:
    otter, harbor = world.agent("amber-otter"), world.agent("cobalt-harbor")
    task = world.task("Parser", assignee=otter)
    world.does("agents.reserve", otter, scope="src/*", bead_id=task)
    reached = {"agent": harbor, "agent_token": world.tokens[harbor], "scope": "src/a.py"}
    world.house.post("agents.reserve", workspace=world.workspace, bead_id=task, **reached)
    later = world.house.post("agents.sessions", workspace=world.workspace).json()
    for card in later["result"]["sessions"]:
        card["session_state"] = state
    context.route("**/call/agents.sessions*", lambda route: route.fulfill(json=later))
    page = visit(f"/sessions/{task}")
    shown = page.get_by_role("region", name="All sessions").get_by_role("link")
    expect(shown).to_contain_text(words)
    expect(page.get_by_text("1 reservation conflict")).to_be_visible()
    context.unroute_all(behavior="wait")


@pytest.mark.proves("OPS-050")
def test_a_person_joins_the_conversation_and_accepts_what_was_passed_to_them(
    world: World, visit: Visit
) -> None:
    otter = world.agent("amber-otter")
    task = world.task("Parser", assignee=otter)
    page = visit(f"/sessions/{task}")
    page.get_by_label("To write to agents").fill("Ada")
    page.get_by_role("button", name="Save name").click()
    page.get_by_label(f"Write about {task}").fill("How far are you?")
    send(page, page.get_by_role("button", name="Send"), "agents.send")
    rows = page.get_by_role("list", name="Messages and events").get_by_role("listitem")
    expect(rows.filter(has_text="How far are you?")).to_contain_text("ada to amber-otter")
    world.does(
        "agents.handoff",
        otter,
        to="ada",
        bead_id=task,
        subject="Yours",
        summary="All done.",
        next_action="Look.",
    )
    row = rows.filter(has_text="Passed to")
    accept = row.get_by_role("button", name="Accepted", exact=True)
    expect(accept).to_be_visible()
    send(page, row.get_by_role("button", name="Seen", exact=True), "agents.read")
    expect(row.get_by_role("button", name="Seen", exact=True)).to_have_count(0)
    assert world("agents.inbox", agent="ada")["messages"][0]["state"] == "read"
    send(page, accept, "agents.ack")
    expect(accept).to_have_count(0)
    expect(row.get_by_text("Accepted", exact=True)).to_be_visible()
    (message,) = world("agents.inbox", agent="ada")["messages"]
    assert message["state"] == "acked"
    page.reload()
    expect(rows.filter(has_text="How far are you?")).to_have_count(1)


def test_the_conversation_of_what_has_ended_still_has_its_title(world: World, visit: Visit) -> None:
    made = world("tasks.macro.create.done", task_title="Parser", proof="CMD: make test (exit 0)")
    task = made["task_id"]
    page = visit(f"/sessions/{task}")
    expect(page.get_by_text("No open work items.")).to_be_visible()
    expect(page.get_by_role("heading", name="Parser")).to_be_visible()


def test_every_answer_of_the_protocol_is_a_row_with_an_address_of_its_own(
    world: World, visit: Visit
) -> None:
    otter, harbor = world.agent("amber-otter"), world.agent("cobalt-harbor")
    task = world.task("Parser", assignee=otter)
    passed = world.does(
        "agents.handoff",
        otter,
        to=harbor,
        bead_id=task,
        subject="The parser is yours",
        summary="It reads.",
        next_action="Ship.",
    )
    message = passed["message"]["message_id"]
    world.does("agents.read", harbor, message=message)
    world.does("agents.ack", harbor, message=message)
    world.does("agents.reserve", harbor, scope="src/parser/*", bead_id=task)
    page = visit(f"/sessions/{task}")
    rows = page.get_by_role("list", name="Messages and events").get_by_role("listitem")
    for label in ("Seen", "Accepted"):
        row = rows.filter(has=page.get_by_text(label, exact=True)).filter(has_text="cobalt-harbor")
        expect(row.last).to_contain_text("The parser is yours")
    expect(rows.filter(has_text="Reserved")).to_contain_text("src/parser/*")
    expect(rows.filter(has_text="Task changed")).to_contain_text("assigned to cobalt-harbor")
    rows.filter(has_text="Reserved").get_by_role("link").click()
    other = visit(page.url.removeprefix(world.house.url))
    marked = other.get_by_role("list", name="Messages and events").locator("[data-marked]")
    expect(marked).to_contain_text("Reserved")


def whom(page: Page, task: str) -> Locator:
    return page.get_by_role("region", name=f"Conversation about {task}").get_by_role("combobox")


def test_a_draft_and_whom_it_is_for_survive_the_eviction_of_the_tab(
    world: World, visit: Visit
) -> None:
    otter = world.agent("amber-otter")
    world.agent("cobalt-harbor")
    task = world.task("Parser", assignee=otter)
    page = visit(f"/sessions/{task}")
    page.get_by_label("To write to agents").fill("Ada")
    page.get_by_role("button", name="Save name").click()
    whom(page, task).select_option("cobalt-harbor")
    page.get_by_label(f"Write about {task}").fill("A long and careful thought")
    page.close()
    again = visit(f"/sessions/{task}")
    box = again.get_by_label(f"Write about {task}")
    expect(box).to_have_value("A long and careful thought")
    expect(whom(again, task)).to_have_value("cobalt-harbor")
    send(again, again.get_by_role("button", name="Send"), "agents.send")
    expect(box).to_have_value("")
    (message,) = world("agents.inbox", agent="cobalt-harbor")["messages"]
    assert message["body"] == "A long and careful thought"


def test_sessions_tell_what_waits_and_lead_to_the_conversation(world: World, visit: Visit) -> None:
    otter, harbor = world.agent("amber-otter"), world.agent("cobalt-harbor")
    quiet, loud = world.task("Quiet"), world.task("Loud", plan="PLAN-001")
    page = visit("/sessions")
    cards = page.get_by_role("region", name="All sessions").get_by_role("link")
    expect(cards).to_have_count(2)
    world.does(
        "agents.blocked",
        otter,
        to=harbor,
        bead_id=loud,
        subject="Which key?",
        blocker="b",
        requested_action="r",
    )
    expect(cards.first).to_contain_text("Loud")
    expect(cards.first).to_contain_text("1 unread")
    expect(cards.first).to_contain_text("to accept")
    cards.first.click()
    expect(page.get_by_role("region", name=f"Conversation about {loud}")).to_contain_text(
        "Which key?"
    )
    page.go_back()
    expect(page.get_by_role("region", name=f"Conversation about {loud}")).to_have_count(0)
    assert quiet != loud
