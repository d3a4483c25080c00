"""Named SQL: text in a room's `queries.sql`, one block per query, with `:name` parameters.

A block starts with `-- name: job_by_id` and a sentence on its purpose. A block of the same name in
`queries.sqlite.sql` or `queries.postgres.sql` replaces the common one on that engine and must say
`-- differs because …`. Text that several queries of a file share goes in a block that starts with
`-- part: columns`; they include it as `{columns}`. There is no SQL in runtime code.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["ENGINES", "Queries", "Query"]

ENGINES: Final = ("sqlite", "postgres")

_BLOCK = re.compile(r"^-- (name|part): (\w+)[ \t]*$", re.MULTILINE)
_BIND = re.compile(r"(?<![:\w]):([a-z_][a-z0-9_]*)\b")
_CAST = re.compile(r"\bAS INTEGER\)")
_COMMENT = re.compile(r"^[ \t]*--.*\n?", re.MULTILINE)
_INSERT = re.compile(rb"(INSERT INTO \w+\s*\([^()]*\)\s*VALUES\s*)(\([^()']*\))")
_CUT = re.compile(
    r"\b(FROM|JOIN) (log|tool_frames)\b( INDEXED BY \w+)?"
    r"(?: AS (\w+)| (?!(?:WHERE|ON|JOIN|CROSS|LEFT|ORDER|GROUP|LIMIT|UNION|AS)\b)(\w+))?"
)
_TABLES = re.compile(r"\b(?:FROM|JOIN)\s+\"?([a-z_]+)")
_WITHIN = re.compile(r"(?:\bWITH RECURSIVE|,) (\w+) (?:\([^()]*\) )?AS \(")
_LOG = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE) \"?log\b")
_NUMBER = re.compile(rb"\$(\d+)")
_PART = re.compile(r"\{(\w+)\}")
_QUOTED = re.compile(r"('(?:[^']|'')*')")


class Numbered(NamedTuple):
    """A statement with `$1`, `$2`, …, and the name of each parameter."""

    text: bytes
    names: tuple[str, ...]


class Query:
    """One statement: its name, its text per engine, whether it writes or touches the log."""

    __slots__ = (
        "_postgres",
        "_tables",
        "_text",
        "_times",
        "_upto",
        "about_log",
        "name",
        "sqlite",
        "writes",
    )

    def __init__(self, name: str, sqlite: str, postgres: str) -> None:
        self.name = name
        self.sqlite = sqlite
        self.writes = not sqlite.startswith("SELECT")
        self.about_log = "log" in sqlite and _LOG.search(sqlite) is not None
        self._postgres: Numbered | str = postgres
        self._text = postgres
        self._tables: frozenset[str] | None = None
        self._upto: Query | None = None
        self._times: dict[int, Query | None] = {}

    @property
    def postgres(self) -> Numbered:
        """The statement for PostgreSQL, translated on first use."""
        if isinstance(self._postgres, str):
            self._postgres = numbered_binds(self._postgres)
        return self._postgres

    @property
    def tables(self) -> frozenset[str]:
        """The tables and views that it reads."""
        if self._tables is None:
            named = set(_TABLES.findall(self.sqlite)) - set(_WITHIN.findall(self.sqlite))
            self._tables = frozenset(named - {"json_each", "select"})
        return self._tables

    @property
    def upto(self) -> Query:
        """The same statement on the log up to `:as_of`; itself if it does not read the log."""
        if self._upto is None:
            texts = (_CUT.sub(_cut, text) for text in (self.sqlite, self._text))
            self._upto = Query(self.name, *texts) if _CUT.search(self.sqlite) else self
        return self._upto

    def times(self, count: int) -> Query | None:
        """The statement for `count` rows on PostgreSQL; None unless it is a plain INSERT."""
        if count not in self._times:
            self._times[count] = _times(self, count)
        return self._times[count]

    def __repr__(self) -> str:
        return f"<Query {self.name}>"


class Queries:
    """All queries of one package, as attributes."""

    def __init__(self, package: str) -> None:
        common = _blocks(package, "queries.sql")
        texts = {engine: {**common} for engine in ENGINES}
        for engine in ENGINES:
            for name, text in _blocks(package, f"queries.{engine}.sql").items():
                if "-- differs because" not in text:
                    raise ValueError(f"{package}: {engine} query {name} must say why it differs")
                texts[engine][name] = text
        names = texts["sqlite"].keys() | texts["postgres"].keys()
        if lone := [n for n in names if any(n not in texts[engine] for engine in ENGINES)]:
            raise ValueError(f"{package}: {', '.join(sorted(lone))} missing on one engine")
        self._package = package
        self._texts = {n: tuple(texts[engine][n] for engine in ENGINES) for n in names}

    def __getattr__(self, name: str) -> Query:
        """Queries are built on first use, because a short-lived process needs few of them."""
        texts = self.__dict__.get("_texts", {}).get(name)
        if texts is None:
            raise AttributeError(f"no query is named {name!r}")
        made = Query(f"{self._package}.{name}", *map(_bare, texts))
        kept: Query = self.__dict__.setdefault(name, made)  # the same one for all threads
        return kept

    def __iter__(self) -> Iterator[Query]:
        return (getattr(self, name) for name in self._texts)


def _blocks(package: str, filename: str) -> dict[str, str]:
    source = Path(sys.modules[package].__path__[0], filename)
    try:
        text = source.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    pieces = _BLOCK.split(text)
    blocks: dict[str, str] = {}
    parts: dict[str, str] = {}
    for kind, name, text in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        if name in blocks:
            raise ValueError(f"{package}/{filename}: two queries are named {name}")
        if kind == "part":
            parts[name] = _bare(text)
            continue
        for part in _PART.findall(text):
            if part not in parts:
                where = f"{package}/{filename}: {name} uses {{{part}}}"
                raise ValueError(f"{where}, but no part above has that name")
            text = text.replace(f"{{{part}}}", parts[part])
        blocks[name] = text
    return blocks


def _bare(text: str) -> str:
    """The statement without comments, whose colons and quotes are not SQL."""
    return _COMMENT.sub("", text).strip().removesuffix(";")


def numbered_binds(sql: str) -> Numbered:
    """The statement for PostgreSQL: `:name` becomes `$1`, with one number per name.

    Integers have 64 bits on both engines: `CAST(:n AS INTEGER)` becomes a cast to BIGINT.
    """
    numbers: dict[str, int] = {}

    def number(bind: re.Match[str]) -> str:
        return f"${numbers.setdefault(bind[1], len(numbers) + 1)}"

    pieces = _QUOTED.split(_CAST.sub("AS BIGINT)", sql))
    text = "".join(
        piece if index % 2 else _BIND.sub(number, piece) for index, piece in enumerate(pieces)
    )
    return Numbered(text.encode(), tuple(numbers))


def _cut(found: re.Match[str]) -> str:
    join, table, index, named, also_named = found.groups()
    upto = "WHERE seq <= CAST(:as_of AS INTEGER)"
    rows = f"SELECT * FROM {table}{index or ''} {upto}"  # noqa: S608
    return f"{join} ({rows}) AS {named or also_named or table}"


def _times(query: Query, count: int) -> Query | None:
    text, names = query.postgres
    plain = _INSERT.fullmatch(text)
    if plain is None:
        return None

    def row(by: int) -> bytes:
        return _NUMBER.sub(lambda number: b"$%d" % (int(number[1]) + by), plain[2])

    rows = b", ".join(row(at * len(names)) for at in range(count))
    return Query(f"{query.name} x {count}", "", (plain[1] + rows).decode())
