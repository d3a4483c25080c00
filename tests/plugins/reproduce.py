"""After a failed run, prints the commands that reproduce the failures."""

from __future__ import annotations

import re
from typing import Any

import pytest

SHOWN = 5
PLAIN = re.compile(r"[\w./:\-,=+@\[\]]+", re.ASCII)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    failed = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
    target = "test-clients" if config.getoption("markexpr") == "clients" else "test"
    commands = list(dict.fromkeys(command(target, report.nodeid) for report in failed))
    if not commands:
        return
    terminalreporter.section("to run it again")
    for line in commands[:SHOWN]:
        terminalreporter.write_line(line)
    if len(commands) > SHOWN:
        terminalreporter.write_line(f"... and {len(commands) - SHOWN} more, named below")


def command(target: str, nodeid: str) -> str:
    """The make command that runs one test, or all its cases if its id is hard to quote."""
    if not PLAIN.fullmatch(nodeid):
        nodeid = nodeid.split("[")[0]
    return f'make {target} ARGS="{nodeid}"'
