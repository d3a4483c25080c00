"""The tab's title, icon and notifications when someone is waiting, and control by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.web.conftest import Visit, World
from tests.web.test_shell import furnish, settled

RECORDER = """
window.told = [];
window.Notification = class {
    static permission = 'default';
    static async requestPermission() { return (this.permission = 'granted'); }
    constructor(title, more) { window.told.push([title, more.body]); }
};
"""
HIDE = "Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' })"
KEYS = [
    ("n", "Now"),
    ("s", "Sessions"),
    ("j", "Jobs"),
    ("w", "Work"),
    ("f", "Files"),
    ("p", "Processes"),
    ("m", "Memory"),
    ("h", "History"),
]


def test_the_title_and_the_icon_of_the_tab_show_that_somebody_waits(
    world: World, visit: Visit
) -> None:
    held = world.claimed()
    page = visit("/work")
    icon = page.locator('link[rel="icon"]')
    expect(page).to_have_title("Work · Longhouse")
    expect(icon).to_have_attribute("href", "/static/icon.svg")
    world("jobs.question", **held, message="Keep tabs?")
    expect(page).to_have_title("(1) Work · Longhouse")
    expect(icon).to_have_attribute("href", "/static/icon-waiting.svg")
    world("jobs.message", job=held["job"], message="Yes.")
    expect(page).to_have_title("Work · Longhouse")
    expect(icon).to_have_attribute("href", "/static/icon.svg")


def test_who_asked_for_notifications_is_told_who_waits_and_why_and_nobody_else(
    world: World, context: BrowserContext, visit: Visit
) -> None:
    context.add_init_script(RECORDER)
    first, second = world.claimed("Port the parser"), world.claimed("Port the lexer")
    page = visit("/")
    settled(page)
    page.evaluate(HIDE)
    world("jobs.question", **first, message="Keep tabs?")
    expect(page).to_have_title("(1) Now · Longhouse")
    assert page.evaluate("window.told") == []
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").last.fill("notify me")
    page.keyboard.press("Enter")
    page.wait_for_function("() => localStorage.getItem('longhouse.notify') === 'yes'")
    world("jobs.question", **second, message="And spaces?")
    expect(page).to_have_title("(2) Now · Longhouse")
    assert page.evaluate("window.told") == [["Port the lexer has a question", "And spaces?"]]


@pytest.mark.parametrize("key,title", KEYS)
def test_a_view_is_reached_and_walked_through_with_the_keyboard(
    world: World, visit: Visit, key: str, title: str
) -> None:
    furnish(world)
    world("think.add.hypothesis", target="TASK-001", card={"title": "Tabs are wider"})
    world("tool.policy_allow", tool="bash", pattern="make test")
    world("tool.task_spawn", tool="bash", args={"command": "make test"})
    page = visit("/history" if key == "n" else "/")
    settled(page)
    page.keyboard.type(f"g{key}")  # without a pause: `g` times out
    expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()
    settled(page)
    expect(page.locator("#main [data-stop]").first).to_be_visible()
    chosen = page.locator("#main [data-stop]:focus, #main [data-stop] :focus")
    page.keyboard.press("j")
    expect(chosen).to_have_count(1)
    page.keyboard.press("/")
    page.get_by_role("combobox", name="Search or run a command").fill(title)
    expect(page.get_by_role("option", name=title).first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_any_ref_is_jumped_to_from_the_palette(world: World, visit: Visit) -> None:
    world.claimed("Port the parser")
    note = world("vcs.notes.commit", content="Tabs stay.")["ref"]
    page = visit("/")
    settled(page)
    for typed, place in (
        ("job-001", "/jobs/JOB-001?"),
        ("JOB-001@2", "/jobs/JOB-001?"),
        (note, f"/memory/{note.replace('@', '%40')}?"),
        ("1", "/history/1?"),
    ):
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Search or run a command").fill(typed)
        page.keyboard.press("Enter")
        page.wait_for_url(f"**{place}**")
        expect(page.get_by_role("dialog", name="Search or run a command")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
