"""What the page says is so: how long somebody waits, what is over, who did it, and why."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.processes.kit import Runner
from tests.web.conftest import Visit, World, send


def waiting(page: Page) -> list[str]:
    cards: list[str] = page.get_by_role("article").locator("h3").all_inner_texts()
    return [card.split()[0] for card in cards]


def three_questions(world: World) -> list[dict[str, Any]]:
    jobs = [world.claimed(title) for title in ("One", "Two", "Three")]
    for job in jobs:
        world("jobs.question", **job, message="Which?")
    return jobs


def test_questions_keep_the_order_in_which_they_were_asked(world: World, visit: Visit) -> None:
    jobs = three_questions(world)
    page = visit("/")
    expect(page.get_by_role("article")).to_have_count(3)
    for job in jobs:
        world("jobs.report", **job, message="still waiting")
        expect(page.get_by_role("article")).to_have_count(3)
        assert waiting(page) == ["One", "Two", "Three"]
    (asked, *_) = world("jobs.radar")["jobs"]
    event = world("jobs.open", job=asked["id"])["events"][1]
    assert (event["kind"], asked["since_ms"]) == ("question", event["ts_ms"])


def test_cards_stay_where_they_are_while_somebody_types_in_one(world: World, visit: Visit) -> None:
    three_questions(world)
    page = visit("/")
    page.get_by_label("Answer JOB-002").fill("The sec")
    more = world("jobs.create", title="After", prompt="x", after=["JOB-003"])
    assert more["job"]["waits_for"] == 1
    urgent = page.get_by_role("article").filter(has_text="unblocks 1 job")
    expect(urgent).to_contain_text("Three")
    assert waiting(page) == ["One", "Two", "Three"]
    page.get_by_label("Answer JOB-002").fill("")
    page.get_by_label("Answer JOB-002").blur()
    expect(page.get_by_role("article").first).to_contain_text("Three")


def refused(world: World, agent: str, **args: Any) -> None:
    who = {"agent": agent, "agent_token": world.tokens[agent]}
    world.house.post("agents.reserve", workspace=world.workspace, **who, **args)


def test_a_conflict_waits_for_nobody_once_the_files_are_free(world: World, visit: Visit) -> None:
    otter, harbor = world.agent("amber-otter"), world.agent("cobalt-harbor")
    task = world.task(assignee=otter)
    world.does("agents.reserve", otter, scope="src/*", bead_id=task)
    refused(world, harbor, scope="src/a.py", bead_id=task)
    page = visit("/")
    expect(page.get_by_role("article")).to_contain_text("Reservation conflict")
    world.does("agents.release", otter, scope="src/*")
    expect(page.get_by_text("Nothing is waiting for you.")).to_be_visible()
    expect(page).to_have_title("Now · Longhouse")


def introduced(page: Page, world: World) -> None:
    """Give the page's user a name in the crew."""
    world.agent("amber-otter")
    task = world.task("Talk")
    page.goto(f"{world.house.url}/sessions/{task}?ws={world.workspace}")
    page.get_by_label("To write to agents").fill("Ada")
    page.get_by_role("button", name="Save name").click()
    expect(page.get_by_label(f"Write about {task}")).to_be_visible()


@pytest.mark.parametrize("what", ["cancel", "requeue"])
def test_what_a_person_does_to_a_job_is_recorded_as_theirs(
    world: World, visit: Visit, what: str
) -> None:
    held = world.claimed()
    if what == "requeue":
        world("jobs.complete", **held, status="FAILED", summary="No.")
    page = visit("/jobs")
    introduced(page, world)
    page.goto(f"{world.house.url}/jobs/JOB-001?ws={world.workspace}")
    name = {"cancel": "Cancel job", "requeue": "Requeue"}[what]
    button = page.get_by_role("region", name="Job JOB-001").locator("header button")
    button.filter(has_text=name).click()
    if what == "cancel":
        page.get_by_role("button", name="Really cancel?").click()
    thread = page.get_by_role("list", name="Events")
    expect(thread.get_by_role("listitem").last).to_contain_text("by ada")
    assert world("jobs.open", job="JOB-001")["events"][0]["by"] == "ada"


def test_a_change_of_a_task_says_what_was_changed_and_by_whom(world: World, visit: Visit) -> None:
    task = world.task("Parser")
    world("tasks.edit", task=task, priority="HIGH", agent_id="amber-otter")
    world("tasks.complete", task=task, status="PARKED")
    world("tasks.edit", task=task, title="Lexer")
    page = visit(f"/work/{task}")
    history = page.get_by_role("region", name="History")
    expect(history).to_contain_text("Task changed: priority high, was medium")
    expect(history).to_contain_text("Task changed: status parked, was todo")
    expect(history).to_contain_text("Task changed: title Lexer, was Parser")
    expect(history.get_by_role("listitem").filter(has_text="priority")).to_contain_text(
        "amber-otter"
    )


def test_a_refused_process_is_explained_by_who_refused_it(world: World, visit: Visit) -> None:
    world("tool.policy_allow", tool="bash", pattern="make test")
    task = world("tool.task_spawn", tool="bash", args={"command": "make test"})["task_id"]
    world("workspace.bind")
    runner = Runner(world)  # type: ignore[arg-type]
    runner.claim()
    decided = {"type": "tool_policy_decided", "decision": "deny", "rule": "safe.default"}
    decided |= {"reason": "no rule allows 'make test' here", "profile": "safe"}
    ended = {"type": "tool_task_status", "status": "failed", "cause": "policy_denied"}
    runner.append(task, decided, {**ended, "ended_at_ms": 9, "error": "safe.default: no rule"})
    why = visit(f"/processes/{task}").get_by_role("note", name="Why it failed")
    expect(why).to_contain_text("no rule allows 'make test' here")
    expect(why).to_contain_text("safe.default")


@pytest.mark.proves("OPS-050")
@pytest.mark.parametrize("button, state", [("Seen", "read"), ("Accepted", "acked")])
def test_a_conversation_marks_a_message_with_the_words_of_the_protocol(
    world: World, visit: Visit, button: str, state: str
) -> None:
    page = visit("/jobs")
    introduced(page, world)
    said = {"subject": "Yours now", "summary": "So far.", "next_action": "Ship it."}
    world.does("agents.handoff", "amber-otter", to="ada", bead_id="TASK-001", **said)
    row = page.get_by_role("list", name="Messages and events").get_by_role("listitem")
    mine = row.filter(has_text="Yours now").first
    expect(mine).to_contain_text("Passed to")
    send(
        page,
        mine.get_by_role("button", name=button, exact=True),
        {"Seen": "agents.read", "Accepted": "agents.ack"}[button],
    )
    expect(mine.get_by_text(button, exact=True)).to_be_visible()
    (message,) = world("agents.inbox", agent="ada")["messages"]
    assert message["state"] == state
    expect(page.locator("#main")).not_to_contain_text(state)


def test_an_answer_is_sent_once_when_the_server_is_back_and_not_said_to_be_sent_before(
    world: World, visit: Visit, context: BrowserContext
) -> None:
    held = world.claimed()
    world("jobs.question", **held, message="Which?")
    page = visit("/jobs/JOB-001")
    pane = page.get_by_role("region", name="Job JOB-001")
    pane.get_by_label("Answer JOB-001").fill("The second.")
    context.route("**/call/jobs.message*", lambda route: route.abort())
    pane.get_by_role("button", name="Answer").click()
    expect(pane.get_by_text("Will be sent when the server is back")).to_be_visible()
    expect(page.get_by_text("One act is waiting to be sent, about JOB-001.")).to_be_visible()
    expect(pane.get_by_text("Answer sent")).to_have_count(0)
    expect(pane.get_by_label("Answer JOB-001")).to_have_value("The second.")
    page.get_by_role("link", name="Work", exact=True).click()
    expect(page.get_by_text("One act is waiting to be sent")).to_be_visible()
    context.unroute("**/call/jobs.message*")
    expect(page.get_by_text("waiting to be sent")).to_have_count(0)
    answers = [e for e in world("jobs.open", job="JOB-001")["events"] if e["kind"] == "manager"]
    assert [answer["message"] for answer in answers] == ["The second."]


def test_moving_through_choices_with_the_keyboard_writes_nothing_until_enter(
    world: World, visit: Visit
) -> None:
    task = world.task("Parser")
    page = visit(f"/work/{task}")
    status = page.get_by_label("Status")
    status.focus()
    before = world("open", id=task)["target"]["status"]
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    expect(page.get_by_text("Enter sets it")).to_be_visible()
    page.keyboard.press("Tab")
    expect(status).to_have_value(before)
    status.focus()
    page.keyboard.press("ArrowDown")
    chosen = status.input_value()
    assert world("open", id=task)["target"]["status"] == before != chosen
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"{task} is now")).to_be_visible()
    assert world("open", id=task)["target"]["status"] == chosen
    moves = world("tasks.history", task=task)["operations"]
    assert len([one for one in moves if "status" in one["payload"]]) == 1


def test_an_assignment_is_taken_back_and_nobody_can_be_assigned(world: World, visit: Visit) -> None:
    otter = world.agent("amber-otter")
    task = world.task("Parser", assignee=otter)
    page = visit(f"/work/{task}")
    page.get_by_label("Assignee").select_option("unassigned")
    expect(page.get_by_text(f"{task} is unassigned.")).to_be_visible()
    expect(page.get_by_label("Assignee")).to_have_value("")
    assert "assignee" not in world("open", id=task)["target"]
    send(page, page.get_by_role("button", name="Undo"), "tasks.edit")
    expect(page.get_by_label("Assignee")).to_have_value(otter)
    assert world("open", id=task)["target"]["assignee"] == otter
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)


def test_what_one_person_dismissed_is_dismissed_on_their_other_device_and_there_only(
    world: World, visit: Visit, chromium: Browser
) -> None:
    other = World(world.house, f"{world.workspace}-other")
    for place in (world, other):
        place("jobs.complete", **place.claimed("Lint"), status="FAILED", summary="No Node here.")
    page = visit("/")
    send(page, page.get_by_role("article").get_by_role("button", name="Dismiss"), "agents.dismiss")
    expect(page.get_by_text("Nothing is waiting for you.")).to_be_visible()
    phone = chromium.new_context(viewport={"width": 390, "height": 800})
    at = f"{world.house.url}/?ws={{}}#token={world.house.token}"
    second = phone.new_page()
    second.goto(at.format(world.workspace))
    expect(second.get_by_text("Nothing is waiting for you.")).to_be_visible()
    second.goto(at.format(other.workspace))
    second.reload()
    expect(second.get_by_role("article")).to_contain_text("No Node here.")
    phone.close()
    send(page, page.get_by_role("button", name="Undo"), "agents.dismiss")
    expect(page.get_by_role("article")).to_contain_text("No Node here.")


def test_a_leads_answer_settles_a_request_for_everybody(world: World, visit: Visit) -> None:
    otter, harbor = world.agent("amber-otter"), world.agent("cobalt-harbor")
    task = world.task(assignee=otter)
    asked = {"subject": "Which key?", "blocker": "No access.", "requested_action": "Grant it."}
    world.does("agents.blocked", otter, to=harbor, bead_id=task, **asked)
    page = visit("/")
    card = page.get_by_role("article")
    card.get_by_label("To write to agents").fill("Ada")
    card.get_by_role("button", name="Save name").click()
    card.get_by_label("Answer amber-otter").fill("The one in the vault.")
    send(page, card.get_by_role("button", name="Answer"), "agents.send")
    expect(page.get_by_text("Nothing is waiting for you.")).to_be_visible()
    assert world("agents.status")["unacked_required_messages"] == []
    (message,) = world("agents.inbox", agent=harbor)["messages"]
    assert (message["state"], message["answered_by"]) == ("unread", "ada")
    page.goto(f"{world.house.url}/sessions/{task}?ws={world.workspace}")
    thread = page.get_by_role("list", name="Messages and events")
    expect(thread.get_by_text("Answered by ada")).to_be_visible()
    listed = page.get_by_role("region", name="All sessions").get_by_role("listitem")
    expect(listed).not_to_contain_text("Needs input")
    expect(listed).not_to_contain_text("to accept")


def test_a_name_taken_up_elsewhere_is_said_in_plain_words_and_asked_for_again(
    world: World, visit: Visit
) -> None:
    page = visit("/jobs")
    introduced(page, world)
    world("agents.adopt", agent="ada", interactive=True, confirm=True)
    page.get_by_label("Write about TASK-001").fill("Is anyone there?")
    page.get_by_role("button", name="Send").click()
    refused = page.get_by_role("alert").filter(has_text="no longer speaks for ada")
    expect(refused).to_be_visible()
    expect(page.locator("#main")).not_to_contain_text("agent_token")
    page.get_by_label("To write to agents").fill("Ada")
    page.get_by_role("button", name="Save name").click()
    expect(page.get_by_label("Write about TASK-001")).to_have_value("Is anyone there?")
    send(page, page.get_by_role("button", name="Send"), "agents.send")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.includes('person'))") == []
