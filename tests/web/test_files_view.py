"""Files: who holds what, what a scope conflicts with, and every action on a reservation."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import Visit, World, send


@pytest.fixture
def crew(world: World) -> dict[str, str]:
    """Two agents with reservations, each for its own task."""
    otter, harbor = world.agent("amber-otter"), world.agent("cobalt-harbor")
    parser, docs = world.task("Parser", assignee=otter), world.task("Docs", assignee=harbor)
    world.does("agents.reserve", otter, scope="src/parser/*", bead_id=parser)
    world.does("agents.reserve", harbor, scope="src/docs/guide.md", bead_id=docs)
    return {"parser": parser, "docs": docs}


def held(page: Page, agent: str, scope: str) -> Locator:
    return page.get_by_role("article", name=f"{agent} holds {scope}")


def say_who(page: Page) -> None:
    page.get_by_label("To write to agents").first.fill("Ada")
    page.get_by_role("button", name="Save name").first.click()


def test_the_map_shows_who_holds_what_and_follows_the_agents(
    world: World, crew: dict[str, str], visit: Visit
) -> None:
    page = visit("/files")
    expect(held(page, "amber-otter", "src/parser/*")).to_contain_text("left")
    expect(held(page, "cobalt-harbor", "src/docs/guide.md")).to_contain_text("only this")
    expect(page.get_by_text("2 reservations by 2 holders")).to_be_visible()
    world.does("agents.release", "amber-otter", scope="src/parser/*")
    expect(held(page, "amber-otter", "src/parser/*")).to_have_count(0)
    for agent in ("amber-otter", "cobalt-harbor"):
        world.does("agents.reserve", agent, scope="lib/*", bead_id=crew["docs"], mode="shared")
    expect(held(page, "amber-otter", "lib/*")).to_contain_text("Overlaps cobalt-harbor")


def test_a_scope_says_while_it_is_typed_whom_it_would_meet(
    world: World, crew: dict[str, str], visit: Visit
) -> None:
    page = visit("/files")
    scope = page.get_by_label("File or folder")
    said = page.get_by_role("region", name="Check availability").get_by_role("status")
    for text, verdict in (
        ("src/parser/lexer.py", "Not free. Held by amber-otter."),
        ("src/*", "Not free. Held by cobalt-harbor, amber-otter."),
        ("src/parse", "Free."),
        ("src/*/x", "A * is allowed only at the end"),
        ("./src/docs/../parser", "Held by amber-otter."),
    ):
        scope.fill(text)
        expect(said).to_contain_text(verdict)
    expect(held(page, "amber-otter", "src/parser/*")).to_contain_text("Conflicts")
    expect(page.get_by_role("button", name="Reserve for an hour")).to_have_count(0)


def test_a_person_reserves_what_is_free_and_releases_it(
    world: World, crew: dict[str, str], visit: Visit
) -> None:
    page = visit("/files", scope="web/*")
    say_who(page)
    page.get_by_label("Task", exact=True).fill(crew["docs"])
    send(page, page.get_by_role("button", name="Reserve for an hour"), "agents.reserve")
    mine = held(page, "ada", "web/*")
    expect(mine).to_contain_text("You")
    expect(page.get_by_label("File or folder")).to_have_value("")
    (found,) = world("agents.status", agent="ada")["reservations"]
    assert (found["scope"], found["mode"]) == ("web/*", "exclusive")
    send(page, mine.get_by_role("button", name="Release"), "agents.release")
    expect(mine).to_have_count(0)
    assert world("agents.status", agent="ada")["reservations"] == []


def test_the_holder_is_asked_in_the_conversation_of_its_task(
    world: World, crew: dict[str, str], visit: Visit
) -> None:
    page = visit("/files", scope="src/parser/lexer.py")
    say_who(page)
    question = page.get_by_label("Ask amber-otter about src/parser/*")
    question.fill("May I have the lexer?")
    send(page, page.get_by_role("button", name="Ask", exact=True), "agents.send")
    expect(page.get_by_text("Asked. The answer will appear")).to_be_visible()
    (message,) = world("agents.inbox", agent="amber-otter")["messages"]
    assert (message["from_agent"], message["body"]) == ("ada", "May I have the lexer?")
    assert message["bead_id"] == crew["parser"]


def test_a_refusal_that_came_in_between_is_shown_and_the_scope_stays(
    world: World, crew: dict[str, str], visit: Visit
) -> None:
    page = visit("/files", scope="web/*")
    say_who(page)
    page.get_by_label("Task", exact=True).fill("TASK-999")
    page.get_by_role("button", name="Reserve for an hour").click()
    expect(page.get_by_role("alert")).to_contain_text("TASK-999")
    expect(page.get_by_label("File or folder")).to_have_value("web/*")


def test_who_reached_for_what_was_held_is_told(
    world: World, crew: dict[str, str], visit: Visit
) -> None:
    page = visit("/files")
    region = page.get_by_role("region", name="Reservation conflicts")
    expect(region).to_contain_text("No one conflicts with a reservation")
    world.house.post(
        "agents.reserve",
        workspace=world.workspace,
        agent="cobalt-harbor",
        agent_token=world.tokens["cobalt-harbor"],
        scope="src/parser/lexer.py",
        bead_id=crew["docs"],
    )
    expect(region.get_by_role("listitem")).to_contain_text(
        "cobalt-harbor conflicts with the holder, amber-otter, over src/parser/lexer.py"
    )


def test_a_viewer_sees_the_map_and_no_button(
    world: World, crew: dict[str, str], visit: Visit
) -> None:
    token, _ = world.house.new_token("viewer")
    page = visit("/files", token=token, scope="web/*")
    expect(page.get_by_role("region", name="Check availability")).to_contain_text("Free.")
    expect(held(page, "amber-otter", "src/parser/*")).to_be_visible()
    expect(page.get_by_role("main").get_by_role("button")).to_have_count(0)


def test_what_a_job_changed_outside_its_reservations_is_told_with_whose_files_it_crossed(
    world: World, crew: dict[str, str], visit: Visit
) -> None:
    held = world.claimed("Port the parser", paths=["lib/*"])
    page = visit("/files")
    region = page.get_by_role("region", name="Changed without a reservation")
    expect(region).to_contain_text(
        "No such changes were seen. In a project that uses git, runners compare its files before "
        "and after each agent run, and longhouse mcp checks its checkout after calls."
    )
    hostile = "<img src=x onerror=alert(1)>.py"
    paths = ["lib/a.py", "src/parser/lexer.py", "notes.txt", hostile]
    world(
        "jobs.report",
        **held,
        message="slice 1",
        changed={"paths": paths, "alone": True, "more": 3},
    )
    files = region.get_by_role("list").nth(1).get_by_role("listitem")
    expect(files).to_have_text(
        ["src/parser/lexer.py was held by amber-otter", "notes.txt", hostile]
    )
    expect(region).to_contain_text("JOB-001 changed")
    expect(region).to_contain_text("3 not compared with reservations")
    seq = world("agents.status")["outside"][0]["seq"]
    page.get_by_role("link", name="in History").click()
    expect(page.get_by_role("dialog")).to_contain_text("changed outside")
    before = visit("/files", as_of=str(seq - 1))
    expect(before.get_by_role("region", name="Changed without a reservation")).to_contain_text(
        "No such changes were seen"
    )
    then = visit("/files", as_of=str(seq))
    expect(then.get_by_role("region", name="Changed without a reservation")).to_contain_text(
        "notes.txt"
    )


def test_what_an_agent_saw_changed_in_its_checkout_is_told_with_who_saw_it(
    world: World, crew: dict[str, str], visit: Visit
) -> None:
    page = visit("/files")
    region = page.get_by_role("region", name="Changed without a reservation")
    expect(region).to_contain_text("No such changes were seen")
    hostile = "<img src=x onerror=alert(1)>.py"
    changed = {"paths": ["src/parser/lexer.py", hostile]}
    told = world.does("agents.changed", "cobalt-harbor", changed=changed)
    change = region.locator("[data-stop]")
    expect(change).to_contain_text("cobalt-harbor saw changes in its checkout")
    expect(change.get_by_role("listitem")).to_have_text([hostile])
    expect(change).not_to_contain_text("JOB-")
    seq = int(told["ref"].rpartition("@")[2])
    then = visit("/files", as_of=str(seq)).get_by_role(
        "region", name="Changed without a reservation"
    )
    expect(then).to_contain_text("cobalt-harbor saw changes in its checkout")


def test_changed_files_that_are_not_named_are_told_apart_from_those_that_were_not_compared(
    world: World, visit: Visit
) -> None:
    held = world.claimed("Port the parser", paths=["lib/*"])
    page = visit("/files")
    latest = page.get_by_role("region", name="Changed without a reservation").locator("[data-stop]")
    world(
        "jobs.report",
        **held,
        message="slice 1",
        changed={"paths": [f"{number}.py" for number in range(14)], "alone": True},
    )
    expect(latest.first).to_contain_text("and 2 more")
    expect(latest.first).not_to_contain_text("not compared")
    world(
        "jobs.report",
        **held,
        message="slice 2",
        changed={"paths": ["lib/a.py"], "alone": True, "more": 3},
    )
    expect(latest.first).to_contain_text("JOB-001 changed many files")
    expect(latest.first).to_contain_text("3 not compared with reservations")


def test_the_conversation_of_a_task_tells_of_files_changed_outside(
    world: World, crew: dict[str, str], visit: Visit
) -> None:
    held = world.claimed("Port the parser", task=crew["parser"])
    page = visit(f"/sessions/{crew['parser']}")
    world("jobs.report", **held, message="slice 1", changed={"paths": ["a.py"], "alone": True})
    row = page.get_by_role("listitem").filter(has_text="Changed outside its reservations")
    expect(row).to_contain_text("a.py")
