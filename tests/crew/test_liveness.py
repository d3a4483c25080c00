"""Liveness: derived from the last sign of life, with inclusive boundaries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from longhouse.config import load
from longhouse.crew.liveness import liveness
from longhouse.house import House
from longhouse.kernel.errors import InvalidInput
from tests.crew.kit import MINUTE, join
from tests.kit import Lh


@pytest.mark.proves("OPS-015", "OPS-019", "OPS-020", "OPS-021", "OPS-060")
@pytest.mark.parametrize(
    "stale,silent,expected",
    [
        (15, 0, "active"),
        (15, 14, "active"),
        (15, 15, "stale"),
        (15, 29, "stale"),
        (15, 30, "evicted"),
        (15, 59, "evicted"),
        (15, 60, "evicted"),
        (15, 120, "evicted"),
        (5, 4, "active"),
        (5, 5, "stale"),
        (5, 9, "stale"),
        (5, 10, "evicted"),
        (40, 61, "stale"),
        (40, 80, "evicted"),
    ],
)
def test_silence_turns_stale_and_then_evicted(stale: int, silent: int, expected: str) -> None:
    assert liveness(0, silent * MINUTE, stale) == expected


@pytest.mark.proves("OPS-019", "OPS-020", "OPS-021")
def test_a_millisecond_before_a_threshold_is_before_it() -> None:
    assert liveness(0, 15 * MINUTE - 1, 15) == "active"
    assert liveness(0, 30 * MINUTE - 1, 15) == "stale"


def test_a_sign_of_life_from_the_future_is_one() -> None:
    assert liveness(10 * MINUTE, 0, 15) == "active"


@pytest.mark.proves("OPS-014")
def test_the_environment_sets_the_minutes(tmp_path: Path) -> None:
    def minutes(**environ: str) -> int:
        return load(environ={"HOME": "/nowhere", **environ}, cwd=tmp_path).agent_stale_minutes

    assert minutes() == 15
    assert minutes(LONGHOUSE_AGENT_STALE_MINUTES="5") == 5
    assert minutes(BB_AGENT_STALE_MINUTES="7") == 7
    assert minutes(LONGHOUSE_AGENT_STALE_MINUTES="5", BB_AGENT_STALE_MINUTES="7") == 5
    for wrong in ("0", "-1", "soon"):
        with pytest.raises(InvalidInput):
            minutes(LONGHOUSE_AGENT_STALE_MINUTES=wrong)


@pytest.mark.proves("OPS-014", "OPS-015")
def test_the_setting_decides_at_read(lh: Lh, new_house: Callable[..., House]) -> None:
    join(lh, "amber-otter")
    impatient = Lh(new_house(agent_stale_minutes=5), lh.clock)
    seen = []
    for _ in range(3):
        lh.clock.advance(5 * MINUTE)
        shown = [one("agents.show", agent="amber-otter")["agent"] for one in (lh, impatient)]
        seen.append([agent["liveness"] for agent in shown])
    assert seen == [["active", "stale"], ["active", "evicted"], ["stale", "evicted"]]


def test_every_act_with_the_token_is_a_sign_of_life(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    say = {"to": "amber-otter", "bead_id": "bd-1", "subject": "s", "body": "b"}
    lh.clock.advance(14 * MINUTE)
    lh("agents.send", **b, **say)
    lh("agents.reserve", **a, scope="src", bead_id="bd-1")
    lh.clock.advance(14 * MINUTE)
    agents = {one["agent_id"]: one for one in lh("agents.list")["agents"]}
    assert {one["liveness"] for one in agents.values()} == {"active"}


def test_a_refused_reservation_is_a_sign_of_life_too(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **a, scope="src", bead_id="bd-1")
    lh.clock.advance(14 * MINUTE)
    assert lh.refused("agents.reserve", **b, scope="src", bead_id="bd-2")
    lh.clock.advance(14 * MINUTE)
    assert lh("agents.show", agent="cobalt-harbor")["agent"]["liveness"] == "active"


def test_a_forged_act_is_none(lh: Lh) -> None:
    join(lh, "amber-otter")
    lh.clock.advance(20 * MINUTE)
    for token in (None, "lha_" + "f" * 48, "<redacted>"):
        error = lh.refused("agents.heartbeat", agent="amber-otter", agent_token=token)
        assert error["code"] == "AGENT_TOKEN_REQUIRED"
        assert error["recovery"]
    assert lh("agents.show", agent="amber-otter")["agent"]["liveness"] == "stale"


def test_only_a_return_is_logged(lh: Lh) -> None:
    a = join(lh, "amber-otter")
    before = lh("status")["seq"]
    lh("agents.heartbeat", **a)
    assert lh("status")["seq"] == before
    lh.clock.advance(20 * MINUTE)
    lh("agents.heartbeat", **a)
    assert lh("status")["seq"] == before + 1
