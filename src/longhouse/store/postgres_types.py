"""Values on PostgreSQL as they are on SQLite: whole numbers are 64 bits wide, text is text.

psycopg would give each number the smallest type that holds it, and so prepare one statement many
times over; sums would come back as decimals and conditions as booleans.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.adapt import Dumper, Loader
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumper

__all__ = ["adapt"]


class _BoolAsNumber(Dumper):
    oid = Int8Dumper.oid

    def dump(self, obj: bool) -> bytes:
        return b"1" if obj else b"0"


class _NumericLoader(Loader):
    def load(self, data: Any) -> int | float:
        text = bytes(data)
        return float(text) if b"." in text else int(text)


class _BoolLoader(Loader):
    def load(self, data: Any) -> int:
        return int(bytes(data) == b"t")


def adapt(db: psycopg.Connection[Any]) -> None:
    db.adapters.register_dumper(int, Int8Dumper)
    db.adapters.register_dumper(str, StrDumper)
    db.adapters.register_dumper(bool, _BoolAsNumber)
    db.adapters.register_loader("numeric", _NumericLoader)
    db.adapters.register_loader("bool", _BoolLoader)
