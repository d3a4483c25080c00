"""Stores to test, on each engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from longhouse.config import Settings
from longhouse.house import House
from longhouse.store.database import Database
from longhouse.store.postgres import PostgresEngine
from tests.kit import Lh, ManualClock
from tests.store.kit import open_engine


@pytest.fixture
def new_db(tmp_path: Path, db_url: str | None) -> Iterator[Callable[..., Database]]:
    """Opens this test's store any number of times, and closes it afterward."""
    opened: list[Database] = []

    def make(guard: str | None = None) -> Database:
        opened.append(Database(open_engine(db_url, tmp_path), project_guard=guard))
        return opened[-1]

    yield make
    for db in opened:
        db.close()


@pytest.fixture
def db(new_db: Callable[..., Database]) -> Database:
    return new_db()


@pytest.fixture
def where(tmp_path: Path, db_url: str | None) -> str:
    """How another process finds this test's store."""
    return db_url or str(tmp_path)


@pytest.fixture
def store(postgres_url: str) -> Iterator[Database]:
    """A store on PostgreSQL only."""
    db = Database(PostgresEngine(postgres_url))
    yield db
    db.close()


@pytest.fixture
def admin(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    """A plain connection to the store's database, bypassing the store."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def folder_lh(new_house: Callable[..., House], settings: Settings, clock: ManualClock) -> Lh:
    """A house whose artifacts are in a folder, on each engine."""
    return Lh(new_house(artifacts=settings.dir / "artifacts"), clock)
