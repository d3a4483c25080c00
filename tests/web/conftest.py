"""The built page in a real Chromium, with a real server behind it.

A violation of the page's security policy, a console error or an exception fails the test that
caused it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    expect,
)

from tests.surfaces.serving import Served
from tools import browser as bring

PATIENCE_MS = 30_000
_NUMBERS = count(1)
REFUSED = "Failed to load resource"
"""The browser's console message for a response that failed or never arrived."""
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with bring.opened() as browser:
        yield browser


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Served]:
    """One server for all tests of this process; each test has its own workspace."""
    server = Served(tmp_path_factory.mktemp("house"))
    yield server
    server.stop()


class World:
    """A separate workspace with short calls."""

    def __init__(self, house: Served, workspace: str) -> None:
        self.house = house
        self.workspace = workspace
        self.tokens: dict[str, str] = {}

    def __call__(self, cmd: str, /, **args: Any) -> dict[str, Any]:
        return self.house(cmd, workspace=self.workspace, **args)

    def agent(self, name: str, role: str = "ui") -> str:
        self.tokens[name] = self("agents.register", name=name, role=role)["agent_token"]
        return name

    def does(self, cmd: str, agent: str, /, **args: Any) -> dict[str, Any]:
        """Call a command as one of the agents."""
        return self(cmd, agent=agent, agent_token=self.tokens[agent], **args)

    def task(self, title: str = "Parser", **args: Any) -> str:
        made = self("tasks.macro.start", task_title=title, **args)
        task: str = made["task_id"]
        return task

    def claimed(self, title: str = "Port the parser", **args: Any) -> dict[str, Any]:
        """Create and claim a job; returns the arguments that a report needs."""
        job = self("jobs.create", title=title, prompt="Do it.", **args)["job"]["id"]
        return self.reclaimed("rust-1", job)

    def reclaimed(self, runner: str, job: str = "JOB-001") -> dict[str, Any]:
        """Claim a queued job; returns the same."""
        held = self("jobs.claim", job=job, runner_id=runner)["job"]
        return {"job": job, "runner_id": runner, "claim_revision": held["revision"]}


@pytest.fixture
def world(house: Served) -> World:
    return World(house, f"world-{next(_NUMBERS)}")


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """A fresh browser profile, shared with no other test."""
    made = chromium.new_context(
        locale="en-GB", viewport={"width": 1280, "height": 860}, reduced_motion="reduce"
    )
    made.set_default_timeout(PATIENCE_MS)
    yield made
    made.close()


Visit = Callable[..., Page]


@pytest.fixture
def visit(context: BrowserContext, world: World) -> Iterator[Visit]:
    """Opens the page, signed in to the test's workspace; any error in it fails the test."""
    wrong: list[str] = []

    def watch(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(REFUSED):
            wrong.append(message.text)

    def open_page(path: str = "/", *, token: str | None = None, **query: str) -> Page:
        page = context.new_page()
        page.on("console", watch)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        asked = "&".join(f"{k}={v}" for k, v in {"ws": world.workspace, **query}.items())
        path += "&" if "?" in path else "?"
        page.goto(f"{world.house.url}{path}{asked}#token={token or world.house.token}")
        return page

    yield open_page
    assert not wrong


def go(page: Page, path: str) -> None:
    """Go to an address without reloading the page."""
    page.evaluate(
        "(path) => { history.pushState(null, '', path); dispatchEvent(new Event('popstate')); }",
        path,
    )


def send(page: Page, button: Locator, cmd: str) -> None:
    """Click, and wait for the server's response: the page shows an act before it is confirmed."""
    with page.expect_response(f"**/call/{cmd}*"):
        button.click()


def fits_a_phone(page: Page) -> None:
    """Wait until nothing is wider than a phone's screen: some parts have to be redrawn."""
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_function("() => document.documentElement.scrollWidth === 360")


def axe(page: Page) -> list[str]:
    """The accessibility violations that axe finds on the page."""
    page.evaluate(f"() => {{ {bring.AXE.read_text()} }}")
    found = page.evaluate("() => window.axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['help']} {[n['html'][:160] for n in one['nodes'][:3]]}"
        for one in found["violations"]
    ]
