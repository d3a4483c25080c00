"""What each write leaves in the log: the kinds of its rows, and which fields their data has.

Feeds, histories and other programs read the log, so a change here is one that they notice. The
golden file is written anew by `python -m tests.contracts.test_log_rows`.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import msgspec
import pytest

from longhouse.kernel.registry import Command
from tests.contracts.conftest import COMMANDS
from tests.contracts.copies import Place
from tests.contracts.test_matrix import call
from tests.contracts.world import example_args, rows_of
from tests.kit import Lh

GOLDEN = Path(__file__).parents[1] / "golden" / "log_rows.txt"
WRITES = [command for command in COMMANDS if command.writes]


@pytest.fixture(scope="module", params=WRITES, ids=lambda command: command.cmd)
def command(request: pytest.FixtureRequest) -> Command:
    found: Command = request.param
    return found


def rows_added(lh: Lh, command: Command) -> list[str]:
    """The rows that the example of a command adds: stream, kind and fields."""
    before = rows_of(lh, "log")["log"]
    assert call(lh, command, example_args(lh, command)).success
    added = [dict(ast.literal_eval(row)) for row in rows_of(lh, "log")["log"] if row not in before]
    return [_told(row) for row in sorted(added, key=lambda row: int(row["seq"]))]


def _told(row: dict[str, Any]) -> str:
    data = row["data"]
    fields = msgspec.json.decode(data) if isinstance(data, str) else data
    return f"{row['stream']} {row['kind']} {' '.join(sorted(fields))}".rstrip()


def golden() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        cmd, _, told = line.partition(": ")
        found.setdefault(cmd.rstrip(":"), []).extend([told] if told else [])
    return found


def test_the_log_has_the_rows_that_it_is_known_to_have(ready: Lh, command: Command) -> None:
    added = rows_added(ready, command)
    assert added == golden().get(command.cmd), (
        "the log changed: if so meant, run python -m tests.contracts.test_log_rows"
    )


def _place(base: str, name: str) -> Place:
    folder = Path(base) / name
    folder.mkdir()
    return Place(folder, "")


def main() -> None:
    import tempfile

    from tests.contracts.copies import built, copied
    from tests.contracts.world import prepare

    lines = []
    with tempfile.TemporaryDirectory() as base:
        world = built(_place(base, "world"), None)
        for command in WRITES:
            lh = copied(world, _place(base, command.cmd), None)
            prepare(lh, command.cmd)
            told = rows_added(lh, command)
            lines += [f"{command.cmd}: {row}" for row in told] or [f"{command.cmd}:"]
            lh.house.close()
    GOLDEN.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
