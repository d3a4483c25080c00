"""Takes the manual's pictures of every view, light and dark: `python -m tools.pictures`.

They show `longhouse demo`, driven step by step to its two most telling moments: first while people
are needed, then after a killed runner was replaced and its late write refused. Review them before
you commit them; ages and times are those of the run.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, Page, ViewportSize

from longhouse.surfaces.cli.demo.day import Day
from longhouse.surfaces.cli.demo.stage import Stage
from tools.browser import opened
from tools.node import ROOT

FOLDER = ROOT / "docs" / "pictures"
SPEED = 12
SIZE = ViewportSize(width=1180, height=760)
PHONE = ViewportSize(width=360, height=720)
PATIENCE_MS = 30_000


class Shot(NamedTuple):
    """One picture: its name, its address, and the text that appears when it is ready."""

    name: str
    path: str
    ready: str


NEEDED = (
    Shot("now", "/", "Keep the tabs"),
    Shot("sessions", "/sessions/{ranking}", "Which date counts?"),
    Shot("processes", "/processes/{process}", "queries answered"),
    Shot("work", "/work/{parser}", "JOB-001"),
)
TAKEN_OVER = (
    Shot("jobs", "/jobs/{measure}", "Refused late writes"),
    Shot("files", "/files?scope=src/parser/lexer.py", "Not free."),
    Shot("memory", "/memory", "Order equal scores by date"),
    Shot("history", "/history", "Rewind"),
)
LATER = ("_answer", "_help")
"""Beats that settle what people are needed for; they run after the first pictures."""


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with Stage(SPEED) as stage, opened() as browser:
        day = Day(stage)
        beats = [(beat.second, beat.does) for beat in day.beats()]
        settle = [does for _, does in beats if does.__name__ in LATER]
        for second, does in beats:
            if does not in settle and second <= 200:
                stage.until(second)
                does()
        take(browser, stage, day, NEEDED)
        for does in (*settle, *(does for second, does in beats if 200 < second <= 400)):
            does()
        take(browser, stage, day, TAKEN_OVER)
    size = sum(path.stat().st_size for path in FOLDER.glob("*.png"))
    print(f"{len(list(FOLDER.glob('*.png')))} pictures, {size / 1024:.0f} KiB in {FOLDER}")


def take(browser: Browser, stage: Stage, day: Day, shots: tuple[Shot, ...]) -> None:
    context = browser.new_context(
        viewport=SIZE, locale="en-GB", timezone_id="UTC", reduced_motion="reduce"
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(f"{stage.url}/#token={stage.token}")
    for shot in shots:
        look(page, stage, day, shot)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=FOLDER / f"{shot.name}-{scheme}.png")
        if shot.name == "now":
            page.emulate_media(color_scheme="light")
            page.set_viewport_size(PHONE)
            page.screenshot(path=FOLDER / "phone.png")
            page.set_viewport_size(SIZE)
    context.close()


def look(page: Page, stage: Stage, day: Day, shot: Shot) -> None:
    """Open the view and wait until it is ready."""
    page.goto(stage.url + shot.path.format_map(vars(day)))
    page.locator('[data-link="live"]').wait_for()
    page.get_by_text(shot.ready).or_(page.get_by_label(shot.ready)).first.wait_for()
    page.get_by_text("Loading…").wait_for(state="detached")
    page.locator("[aria-busy]").first.wait_for(state="detached")


if __name__ == "__main__":
    FOLDER = Path(sys.argv[1]) if sys.argv[1:] else FOLDER
    main()
