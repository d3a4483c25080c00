"""Now: what needs the user appears immediately, ranked, and is settled with one click."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.web.conftest import Visit, World, send


def test_a_question_appears_without_a_reload_and_is_answered_in_place(
    world: World, visit: Visit
) -> None:
    held = world.claimed("Port the parser")
    page = visit("/")
    expect(page.get_by_text("Nothing is waiting for you.")).to_be_visible()
    world("jobs.question", **held, message="Keep **tabs**?")
    card = page.get_by_role("article")
    expect(card.get_by_text("Question")).to_be_visible()
    expect(card.locator("strong", has_text="tabs")).to_be_visible()
    expect(page).to_have_title("(1) Now · Longhouse")
    expect(page.locator('link[rel="icon"]')).to_have_attribute("href", "/static/icon-waiting.svg")
    card.get_by_label("Answer JOB-001").fill("Keep them.")
    send(page, card.get_by_role("button", name="Answer"), "jobs.message")
    expect(page.get_by_text("Nothing is waiting for you.")).to_be_visible()
    expect(page).to_have_title("Now · Longhouse")
    newest = world("jobs.open", job="JOB-001")["events"][0]
    assert (newest["kind"], newest["message"]) == ("manager", "Keep them.")


def test_what_frees_most_comes_first_and_says_how_much(world: World, visit: Visit) -> None:
    alone, chained = world.claimed("Alone"), world.claimed("Chained")
    second = world("jobs.create", title="Second", prompt="x", after=[chained["job"]])["job"]["id"]
    world("jobs.create", title="Third", prompt="x", after=[second])
    world("jobs.question", **alone, message="First asked?")
    world("jobs.question", **chained, message="Asked later?")
    cards = visit("/").get_by_role("article")
    expect(cards.nth(0)).to_contain_text("unblocks 2 jobs")
    expect(cards.nth(0)).to_contain_text("Chained")
    expect(cards.nth(1)).to_contain_text("Alone")


def test_a_failed_job_is_queued_again_with_one_click(world: World, visit: Visit) -> None:
    world("jobs.complete", **world.claimed("Lint"), status="FAILED", summary="No Node here.")
    page = visit("/")
    card = page.get_by_role("article")
    expect(card).to_contain_text("No Node here.")
    send(page, card.get_by_role("button", name="Requeue"), "jobs.requeue")
    expect(card).to_have_count(0)
    assert world("jobs.open", job="JOB-001")["job"]["status"] == "QUEUED"


def test_changes_that_do_not_apply_are_settled_after_a_look_at_why(
    world: World, visit: Visit
) -> None:
    for title in ("Port it", "Lint it"):
        job = world.claimed(title)
        world("jobs.complete", **job, status="DONE", changes="src/lexer.py was changed meanwhile")
    page = visit("/")
    card = page.get_by_role("article").filter(has_text="Port it")
    expect(card).to_contain_text("src/lexer.py was changed meanwhile")
    expect(card).to_contain_text("longhouse job apply JOB-001")
    send(page, card.get_by_role("button", name="I applied them"), "jobs.apply")
    expect(card).to_have_count(0)
    other = page.get_by_role("article").filter(has_text="Lint it")
    other.get_by_role("button", name="Drop them").click()
    assert world("jobs.open", job="JOB-002")["job"]["status"] == "QUEUED"
    send(page, other.get_by_role("button", name="Really drop them?"), "jobs.apply")
    assert world("jobs.open", job="JOB-001")["job"]["status"] == "DONE"
    assert world("jobs.open", job="JOB-002")["job"]["status"] == "FAILED"


def test_a_person_answers_a_blocked_agent_under_their_own_name(world: World, visit: Visit) -> None:
    otter, harbor = world.agent("amber-otter"), world.agent("cobalt-harbor")
    task = world.task()
    world.does(
        "agents.blocked",
        otter,
        to=harbor,
        bead_id=task,
        subject="Which key?",
        blocker="No access.",
        requested_action="Grant it.",
    )
    page = visit("/")
    card = page.get_by_role("article")
    expect(card).to_contain_text("Needs input")
    card.get_by_label("To write to agents").fill("Ada Lovelace")
    card.get_by_role("button", name="Save name").click()
    card.get_by_label("Answer amber-otter").fill("The one in the vault.")
    send(page, card.get_by_role("button", name="Answer"), "agents.send")
    expect(card).to_have_count(0)
    (message,) = world("agents.inbox", agent=otter)["messages"]
    assert (message["from_agent"], message["body"]) == ("ada-lovelace", "The one in the vault.")
    assert world("agents.show", agent="ada-lovelace")["agent"]["kind"] == "person"


@pytest.mark.parametrize("button, state", [("Accepted", "acked"), ("Seen", "read")])
def test_what_was_passed_to_a_person_is_seen_and_accepted_by_them(
    world: World, visit: Visit, button: str, state: str
) -> None:
    otter, task = world.agent("amber-otter"), world.task()
    page = visit("/")
    page.get_by_role("heading", name="Now").wait_for()
    world.does("agents.send", otter, to=otter, bead_id=task, subject="x", body="y")
    world.does(
        "agents.blocked",
        otter,
        to=otter,
        bead_id=task,
        subject="Help",
        blocker="b",
        requested_action="r",
    )
    page.get_by_label("To write to agents").fill("Ada")
    page.get_by_role("button", name="Save name").click()
    expect(page.get_by_label("Answer amber-otter")).to_be_visible()
    world.does(
        "agents.handoff",
        otter,
        to="ada",
        bead_id=task,
        subject="Yours now",
        summary="Done so far.",
        next_action="Ship it.",
    )
    card = page.get_by_role("article").filter(has_text="Yours now")
    cmd = {"Accepted": "agents.ack", "Seen": "agents.read"}[button]
    send(page, card.get_by_role("button", name=button, exact=True), cmd)
    expect(card.get_by_role("button", name="Seen", exact=True)).to_have_count(0)
    (message,) = world("agents.inbox", agent="ada")["messages"]
    assert message["state"] == state


@pytest.mark.proves("OPS-060")
def test_incursions_and_silent_agents_are_plain_to_see(
    world: World, context: BrowserContext, visit: Visit
) -> None:
    otter, harbor = world.agent("amber-otter"), world.agent("cobalt-harbor")
    task = world.task(assignee=otter)
    world.does("agents.reserve", otter, scope="src/*", bead_id=task)
    world.house.post(
        "agents.reserve",
        workspace=world.workspace,
        agent=harbor,
        agent_token=world.tokens[harbor],
        scope="src/a.py",
        bead_id=task,
    )
    context.clock.install()
    page = visit("/")
    expect(page.get_by_role("article")).to_contain_text(
        "conflicts with the holder, amber-otter, over src/a.py"
    )
    crew = page.get_by_role("region", name="Agents")
    row = crew.get_by_role("listitem").filter(has_text="amber-otter")
    expect(row).to_contain_text("holds src/*")
    expect(row).to_contain_text("Active")
    context.set_offline(True)  # no updates arrive: only the timestamps count
    page.clock.fast_forward("16:00")
    expect(row).to_contain_text("Stale · 16 min")
    page.clock.fast_forward("16:00")
    expect(row).to_contain_text("Evicted · 32 min")


HOLD = """
    const real = window.fetch;
    window.held = [];
    window.fetch = async (url, asked) => {
        const answer = await real(url, asked);
        const late = window.hold && String(url).includes("agents.list");
        if (late) await new Promise((go) => window.held.push(go));
        return answer;
    };
"""


def test_an_answer_that_was_long_on_its_way_does_not_set_the_clock_back(
    world: World, context: BrowserContext, visit: Visit
) -> None:
    """As when a laptop sleeps between a request and its response."""
    world.agent("amber-otter")
    context.clock.install()
    context.add_init_script(HOLD)
    page = visit("/")
    crew = page.get_by_role("region", name="Agents")
    row = crew.get_by_role("listitem").filter(has_text="amber-otter")
    expect(row).to_contain_text("Active")
    page.evaluate("window.hold = true")
    world.agent("cobalt-harbor")
    page.wait_for_function("() => window.held.length > 0")
    context.set_offline(True)
    page.clock.fast_forward("16:00")
    expect(row).to_contain_text("Stale · 16 min")
    page.evaluate("window.held.forEach((go) => go())")
    page.clock.fast_forward("01:00")
    expect(row).to_contain_text("Stale · 17 min")
