"""The page as users get it: from the wheel, in a separate environment, without Node."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, expect

from longhouse.client import launch

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program from the wheel; its dependencies come from this environment."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python3"
    uv = [sys.executable, "-m", "uv", "pip", "install", "-q", "--offline", "--no-deps"]
    wheel = next(folder.glob("*.whl"))
    subprocess.run([*uv, "--python", str(python), str(wheel)], check=True)
    (packages,) = (folder / "env").glob("lib/python*/site-packages")
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib"))
    return python.with_name("longhouse")


@pytest.fixture
def address(installed: Path, tmp_path: Path) -> Iterator[str]:
    """The sign-in address of its server, started with an empty PATH."""
    nowhere = {"PATH": "/nonexistent", "HOME": str(tmp_path), "LONGHOUSE_PORT": "0"}
    store = ["--dir", str(tmp_path / ".longhouse")]
    up = [str(installed), "up", "--no-runner-autostart", *store]
    try:
        subprocess.run(up, cwd=tmp_path, env=nowhere, check=True, capture_output=True)
        running = launch.alive(tmp_path / ".longhouse")
        assert running is not None
        token = (tmp_path / ".longhouse" / "token").read_text().strip()
        yield f"{running.url}/#token={token}"
    finally:
        subprocess.run([str(installed), "down", *store], cwd=tmp_path, env=nowhere, check=True)


def test_the_installed_program_is_that_of_the_wheel(installed: Path) -> None:
    python = str(installed.with_name("python3"))
    where = [python, "-c", "import longhouse; print(longhouse.__file__)"]
    said = subprocess.run(where, cwd="/", check=True, capture_output=True, text=True)
    assert said.stdout.startswith(str(installed.parents[1]))


def test_the_page_of_an_installed_wheel_opens_without_node(address: str, chromium: Browser) -> None:
    wrong: list[str] = []

    def watch(message: ConsoleMessage) -> None:
        if message.type == "error":
            wrong.append(message.text)

    page = chromium.new_context(locale="en-GB").new_page()
    page.on("console", watch)
    page.goto(address)
    expect(page.get_by_role("heading", name="Now")).to_be_visible()
    for view in ("Jobs", "Work", "Files", "Processes", "Memory", "History"):
        page.get_by_role("navigation").get_by_role("link", name=view).click()
        expect(page.get_by_role("heading", name=view, level=1)).to_be_visible()
    page.context.close()
    assert wrong == []
