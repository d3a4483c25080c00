"""Sending the logs of one task to a server that does not accept all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from longhouse.runner.tool_tasks.deltas import LogReader
from longhouse.runner.tool_tasks.keeping import LogKeeper

SEAL = {"bytes_total": 10, "bytes_stored": 10, "error": None}


class Sealed:
    """A server whose log ended after four bytes."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, **asked: Any) -> dict[str, Any]:
        self.calls += 1
        assert self.calls < 50, "it is asked for ever"
        return {"next_offset": 4, "artifact": "0" * 64, "bytes_stored": 4}


def test_a_log_that_the_server_takes_no_more_of_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "stdout.log").write_bytes(b"0123456789")
    said = LogKeeper(Sealed(), tmp_path).seal("stdout", SEAL)
    assert said["error"] == "it was not stored: the server accepts no more of this log"
    keeper, log = LogKeeper(Sealed(), tmp_path), LogReader(tmp_path, "stdout")
    assert keeper.keep(log, 10) == 10
    assert keeper.trouble == said["error"]
    log.close()
