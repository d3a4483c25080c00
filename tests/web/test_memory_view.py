"""Memory: search, documents, branches side by side, the reasoning graph and its dependents."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from longhouse.kernel.refs import ref_grammar
from tests.web.conftest import Visit, World, axe, send

SAW = "CMD: bench/rank.py (exit 0)\nSaw: 96 % of the first hits are right"


def test_a_note_is_found_by_its_words_and_read_in_its_document(world: World, visit: Visit) -> None:
    world("vcs.notes.commit", content="The **cookie** expires too early.", title="Login")
    page = visit("/memory")
    document = page.get_by_role("region", name="notes")
    expect(document.locator("strong", has_text="cookie")).to_be_visible()
    world("vcs.notes.commit", content="The index is missing.")
    expect(document.get_by_role("listitem")).to_have_count(2)
    page.get_by_label("Search memory").fill("cookie")
    found = page.get_by_role("region", name="Search results")
    expect(found.get_by_role("listitem")).to_have_count(1)
    found.get_by_role("link", name="Login").click()
    expect(document.locator("[data-chosen]")).to_contain_text("Login")
    page.get_by_label("Search memory").fill("no such word")
    expect(page.get_by_text("No results for “no such word”.")).to_be_visible()


def test_two_branches_are_compared_side_by_side(world: World, visit: Visit) -> None:
    world("vcs.notes.commit", content="Common ground.", branch="main")
    world("vcs.branch.create", name="try", **{"from": "main"})
    world("vcs.notes.commit", content="Tried here.", branch="try")
    world("vcs.notes.commit", content="Went on there.", branch="main")
    page = visit("/memory", branch="try", doc="notes")
    page.get_by_label("Compare try with").select_option("main")
    mine, theirs = (page.get_by_role("region", name=f"Only on {one}") for one in ("try", "main"))
    expect(mine).to_contain_text("Tried here.")
    expect(theirs).to_contain_text("Went on there.")
    expect(page.get_by_text("Common ground.")).to_have_count(0)


def test_a_card_shows_its_edges_and_what_rests_on_it(world: World, visit: Visit) -> None:
    task = world.task("Ranking")
    guess = world("think.add.hypothesis", target=task, card={"title": "Fresh pages win"})
    world(
        "think.add.decision",
        target=task,
        card={"title": "Order by date", "status": "accepted"},
        supports=[guess["card_id"]],
    )
    graph = guess["graph_doc"]
    page = visit("/memory", branch=guess["branch"], doc=graph)
    cards = page.get_by_role("list", name="Cards")
    decision = cards.get_by_role("listitem").filter(has_text="Order by date")
    expect(decision).to_contain_text("supports")
    expect(page.locator("svg [data-rel=supports]")).to_have_count(1)
    decision.get_by_role("link", name="Fresh pages win").click()
    expect(page.get_by_role("region", name="What depends on it")).to_contain_text("Order by date")
    page.get_by_role("button", name="hypothesis").click()
    expect(page.locator("svg [data-type]")).to_have_count(1)
    expect(cards.get_by_role("link", name="Fresh pages win")).to_have_count(1)


def test_what_two_branches_changed_is_settled_side_by_side(world: World, visit: Visit) -> None:
    def put(branch: str, title: str) -> None:
        node = {"op": "node_upsert", "id": "A", "type": "decision", "title": title}
        world("graph.apply", branch=branch, ops=[node])

    put("main", "Sort by date")
    world("vcs.branch.create", name="try", **{"from": "main"})
    put("try", "Sort by score")
    put("main", "Sort by name")
    page = visit("/memory", branch="main", doc="graph")
    expect(page.get_by_role("list", name="Cards")).to_contain_text("Sort by name")
    world("graph.merge", **{"from": "try", "into": "main"})
    clash = page.get_by_role("article", name="A")
    for side, title in (("Before", "date"), ("On main", "name"), ("On try", "score")):
        expect(clash.get_by_role("region", name=side)).to_contain_text(f"Sort by {title}")
    assert axe(page) == []
    send(page, clash.get_by_role("button", name="Use this"), "graph.conflict.resolve")
    expect(clash).to_have_count(0)
    expect(page.get_by_role("list", name="Cards")).to_contain_text("Sort by score")


def test_a_signal_offers_the_acts_that_settle_it(world: World, visit: Visit) -> None:
    task = world.task("Ranking")
    guess = world("think.add.hypothesis", target=task, card={"title": "Fresh pages win"})
    page = visit("/memory", branch=guess["branch"], doc=guess["graph_doc"])
    signals = page.get_by_role("list", name="Signals").get_by_role("listitem")
    about = signals.filter(has_text=guess["card_id"]).first
    expect(about).to_contain_text("has no test")
    about.get_by_role("button", name="Add a test for Fresh pages win").click()
    about.get_by_role("textbox").fill("Rank last week's queries both ways.")
    send(page, about.get_by_role("button", name="Save"), "think.card")
    unproved = signals.filter(has_text="no evidence")
    unproved.get_by_role("button", name="Run Test").click()
    written = unproved.get_by_role("textbox")
    expect(written).to_have_value("")
    expect(written).to_have_attribute("placeholder", re.compile("^CMD: "))
    expect(unproved.get_by_role("button", name="Save")).to_be_disabled()
    written.fill(SAW)
    expect(written).to_have_value(SAW)
    page.reload()
    unproved.get_by_role("button", name="Run Test").click()
    expect(written).to_have_value(SAW)
    send(page, unproved.get_by_role("button", name="Save"), "think.card")
    cards = page.get_by_role("list", name="Cards").get_by_role("listitem")
    expect(cards.filter(has_text="evidence")).not_to_have_count(0)
    token, _ = world.house.new_token("viewer")
    viewer = visit("/memory", token=token, branch=guess["branch"], doc=guess["graph_doc"])
    expect(viewer.get_by_role("list", name="Signals")).to_be_visible()
    expect(viewer.get_by_role("list", name="Signals").get_by_role("button")).to_have_count(0)


def test_a_ref_leads_to_the_entry_or_the_card_that_it_names(world: World, visit: Visit) -> None:
    note = world("vcs.notes.commit", content="The cookie expires.", title="Login")["ref"]
    card = world("think.add.hypothesis", target=world.task(), card={"title": "A cold cache"})
    page = visit(f"/memory/{note}")
    expect(page.get_by_role("region", name="notes").locator("[data-chosen]")).to_contain_text(
        "Login"
    )
    page = visit(f"/memory/{card['card_id']}")
    chosen = page.get_by_role("list", name="Cards").locator("[data-chosen]")
    expect(chosen).to_contain_text("A cold cache")
    page = visit("/memory/CARD-999")
    expect(page.get_by_role("alert")).to_contain_text("CARD-999")
    expect(page.get_by_text("CARD-999 is not in memory.")).to_be_visible()


def test_the_past_of_the_memory_is_shown_as_it_was(world: World, visit: Visit) -> None:
    first = world("vcs.notes.commit", content="The first.")["ref"]
    world("vcs.notes.commit", content="The second.")
    page = visit("/memory", as_of=first.partition("@")[2])
    expect(page.get_by_role("region", name="notes").get_by_role("listitem")).to_have_count(1)


def test_every_kind_of_ref_in_a_text_is_marked_as_the_server_would(
    world: World, visit: Visit
) -> None:
    said = [kind.example for kind in ref_grammar().kinds]
    lines = [f"- see {ref}, and not /{ref}, x{ref} or {ref}.py" for ref in said]
    world("vcs.notes.commit", content="\n".join(lines), title="Refs")
    page = visit("/memory")
    marked = page.get_by_role("region", name="notes").locator("li li .ref")
    expect(marked).to_have_text([ref for line in lines for ref in ref_grammar().find(line)])
