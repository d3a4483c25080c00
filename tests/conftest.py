"""Fixtures shared by all tests: a house on each engine, and a clock that tests control."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from longhouse.config import Settings, load
from longhouse.house import House
from longhouse.store.queries import ENGINES
from tests.kit import CountedIds, Lh, ManualClock

pytest_plugins = [
    "pytester",
    "tests.plugins.memory_disk",
    "tests.plugins.own_loop",
    "tests.plugins.postgres",
    "tests.plugins.proves",
    "tests.plugins.reproduce",
]


def pytest_configure() -> None:
    """Isolate the tests from the environment they run in.

    Servers do not start runners unless a test asks for it, nothing reads the user's configuration,
    and processes react to Ctrl-C even if the tests run in the background.
    """
    os.environ["LONGHOUSE_RUNNER_AUTOSTART"] = "0"
    os.environ["XDG_CONFIG_HOME"] = _empty_config()
    os.environ["XDG_CACHE_HOME"] = _empty_config()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # The same examples in every run, and no deadlines, which would fail on a busy machine.
    hypothesis.settings.register_profile("house", deadline=None, derandomize=True)
    hypothesis.settings.load_profile("house")


def _empty_config() -> str:
    """A folder without settings, removed after the run; clients of tests keep tokens there."""
    folder = tempfile.mkdtemp(prefix="longhouse-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """The engine a test runs on; every test that uses a house runs once on each."""
    name: str = request.param
    return name


@pytest.fixture
def db_url(request: pytest.FixtureRequest, engine: str) -> str | None:
    """The URL of the test's store; None for the default, a file in its folder."""
    return request.getfixturevalue("postgres_url") if engine == "postgres" else None


@pytest.fixture
def settings(tmp_path: Path, db_url: str | None) -> Settings:
    return load(
        {"dir": str(tmp_path / ".longhouse"), "workspace": "acme", "db": db_url},
        environ={"HOME": str(tmp_path / "home")},
        cwd=tmp_path,
    )


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty store; tests start from a copy, which is faster than running all migrations."""
    folder = tmp_path_factory.mktemp("empty")
    settings = load({"dir": str(folder)}, environ={}, cwd=folder)
    with House(settings):
        return Path(settings.db)


@pytest.fixture
def new_house(
    settings: Settings, clock: ManualClock, engine: str, empty_store: Path
) -> Iterator[Callable[..., House]]:
    """Opens houses on this test's store, and closes them afterward."""
    opened: list[House] = []
    if engine == "sqlite" and not settings.dir.exists():
        settings.dir.mkdir(mode=0o700)
        shutil.copy2(empty_store, settings.db)

    def make(**changes: Any) -> House:
        house = House(settings._replace(**changes), clock=clock, ids=CountedIds())
        opened.append(house)
        return house

    yield make
    for house in opened:
        house.close()


@pytest.fixture
def lh(new_house: Callable[..., House], clock: ManualClock) -> Lh:
    """A house to call: `lh("docs.show", doc_kind="notes")` returns the result."""
    return Lh(new_house(), clock)
