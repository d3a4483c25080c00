"""The one search on the page: the palette and the Memory view find whatever was written."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.web.conftest import Visit, World, axe


def written(world: World) -> None:
    """Something of every kind, each with a word of its own."""
    world("vcs.notes.commit", content="The login test fails: the cookie expires too early.")
    world.task("Weld the flange")
    world("jobs.create", title="Paint it", prompt="Use the turquoise lacquer")
    world("docs.artifact.add", name="thermogram.png", text="x")
    world.agent("amber-otter")
    world.agent("cobalt-harbor")
    world.does(
        "agents.send",
        "amber-otter",
        to="cobalt-harbor",
        bead_id="TASK-001",
        subject="About the gasket",
        body="It leaks a little.",
    )
    for card_id, title, status in (
        ("D-1", "Sessions are kept in Redis", "superseded"),
        ("D-2", "Sessions moved to a table", "accepted"),
    ):
        card = {"id": card_id, "type": "decision", "title": title, "status": status}
        world("think.card", card=card, branch="main")
    edge = {"op": "edge_upsert", "from": "D-2", "rel": "supersedes", "to": "D-1"}
    world("graph.apply", ops=[edge], branch="main", doc="graph")


def opened(page: Page, text: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search or run a command").fill(text)


def test_the_palette_finds_what_was_written_and_opens_it(world: World, visit: Visit) -> None:
    written(world)
    page = visit("/")
    options = page.get_by_role("listbox", name="Results").get_by_role("option")
    for text, shown, place in (
        ("why does the login test fail", "the cookie expires too early", "/memory"),
        ("turquoise", "Paint it", "/jobs/JOB-001"),
        ("flange", "Weld the flange", "/work/TASK-001"),
        ("leaks", "About the gasket", "/work/TASK-001"),
        ("thermogram", "thermogram.png", "/"),
    ):
        opened(page, text)
        expect(options.filter(has_text=shown).first).to_be_visible()
        if text == "thermogram":
            page.keyboard.press("Escape")
            continue
        options.filter(has_text=shown).first.click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.wait_for_url(f"**{place}*")


def test_a_hit_is_chosen_with_the_keys(world: World, visit: Visit) -> None:
    written(world)
    page = visit("/")
    opened(page, "cookie expiry")
    hit = page.get_by_role("option").filter(has_text="The login test fails")
    expect(hit).to_be_visible()
    while hit.get_attribute("aria-selected") != "true":
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memory*")
    expect(page.locator("[data-chosen]")).to_contain_text("The login test fails")


def test_a_misspelt_word_is_corrected_in_the_palette(world: World, visit: Visit) -> None:
    written(world)
    page = visit("/")
    opened(page, "cokie")
    dialog = page.get_by_role("dialog")
    remark = dialog.get_by_role("status")
    expect(remark).to_contain_text("“cokie” is found nowhere; nearest: cookie.")
    page.get_by_role("option", name="Search for “cookie”").click()
    box = page.get_by_role("combobox", name="Search or run a command")
    expect(box).to_have_value("cookie")
    expect(page.get_by_role("option").filter(has_text="The login test fails")).to_be_visible()
    box.fill("xylophone zeppelin")
    expect(remark).to_contain_text("Nothing was written about it.")
    assert axe(page) == []


def test_the_memory_view_shows_status_reasons_and_suggestions(world: World, visit: Visit) -> None:
    written(world)
    page = visit("/memory", q="where are sessions kept")
    found = page.get_by_role("region", name="Search results")
    first = found.get_by_role("listitem").first
    expect(first).to_contain_text("Sessions moved to a table")
    old = found.get_by_role("listitem").filter(has_text="Sessions are kept in Redis")
    expect(old).to_contain_text("superseded by D-2")
    found.get_by_role("button", name="job", exact=True).click()
    expect(page.get_by_text("No results for “where are sessions kept”.")).to_be_visible()
    found.get_by_role("button", name="Search everything").click()
    expect(first).to_contain_text("Sessions moved to a table")
    page.get_by_label("Search memory").fill("cokie expires")
    found.get_by_role("button", name="Search for “cookie expires”").click()
    expect(page.get_by_label("Search memory")).to_have_value("cookie expires")
    expect(first).to_contain_text("all words")
    assert axe(page) == []
