"""Two processes reserve the same scope at once: exactly one gets it, always."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from longhouse.config import Settings
from tests.crew.kit import join
from tests.kit import Lh

ROUNDS = 12
RACER = """
import json, sys
from pathlib import Path
from typing import Any
from longhouse.config import load
from longhouse.house import House
flags, agent, token, rounds = json.loads(sys.argv[1])
house = House(load(flags, environ={}, cwd=Path(flags["dir"]).parent))
print("ready", flush=True)
for number in range(rounds):
    sys.stdin.readline()
    answer = house.call("agents.reserve", {
        "agent": agent, "agent_token": token, "bead_id": "bd-1",
        "scope": f"src/{number}/*" if agent < "b" else f"src/{number}/lib/a.py"})
    print(answer.code if not answer.success else "won", flush=True)
house.close()
"""


@pytest.mark.proves("OPS-022")
def test_exactly_one_of_two_processes_wins(
    lh: Lh, settings: Settings, db_url: str | None, tmp_path: Path
) -> None:
    lh.clock.advance(-lh.clock.now_ms() + _now_ms())
    racers: list[Any] = []
    for name in ("amber-otter", "cobalt-harbor"):
        who = join(lh, name)
        flags = {"dir": str(settings.dir), "workspace": "acme", "db": db_url}
        given = json.dumps([flags, name, who["agent_token"], ROUNDS])
        racers.append(
            subprocess.Popen(
                [sys.executable, "-c", RACER, given],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
            )
        )
    try:
        assert [racer.stdout.readline() for racer in racers] == ["ready\n"] * 2
        for _ in range(ROUNDS):
            for racer in racers:
                racer.stdin.write("go\n")
                racer.stdin.flush()
            said = sorted(racer.stdout.readline().strip() for racer in racers)
            assert said == ["RESERVATION_CONFLICT", "won"]
    finally:
        for racer in racers:
            racer.communicate(timeout=20)
    assert lh("agents.status")["summary"]["active"] == ROUNDS
    incursions = [
        row
        for row in lh("agents.conversation", bead_id="bd-1", limit=100)["thread"]
        if row["kind"] == "INCURSION"
    ]
    assert len(incursions) == ROUNDS


def _now_ms() -> int:
    import time

    return time.time_ns() // 1_000_000
