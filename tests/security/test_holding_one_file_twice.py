"""The attacker wants a file that another agent holds, by spelling its name in another way."""

from __future__ import annotations

import pytest

from longhouse.crew.scopes import normalise, overlap
from longhouse.kernel.errors import InvalidInput
from tests.crew.kit import join, settle
from tests.kit import Lh

HELD = "src/caf\u00e9/Login.py"
SAME = [
    "src/cafe\u0301/Login.py",
    "./src//caf\u00e9/./Login.py",
    "src/x/../caf\u00e9/Login.py",
    "src\\caf\u00e9\\Login.py",
]


@pytest.mark.parametrize("spelled", SAME)
def test_another_spelling_of_a_held_file_is_the_same_file(lh: Lh, spelled: str) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **a, scope=HELD, bead_id="bd-1")
    error = lh.refused("agents.reserve", **b, scope=spelled, bead_id="bd-1")
    assert error["code"] == "RESERVATION_CONFLICT"


@pytest.mark.parametrize("hidden", "\u200b\u200d\u2060\ufeff\u202e\u00ad\x07\x7f\u2028")
def test_what_cannot_be_seen_is_no_part_of_a_path(lh: Lh, hidden: str) -> None:
    b = join(lh, "cobalt-harbor")
    error = lh.refused("agents.reserve", **b, scope=f"src/lo{hidden}gin.py", bead_id="bd-1")
    assert error["code"] == "INVALID_INPUT"
    assert "invisible" in error["message"]


def test_case_counts_where_the_file_system_tells_it_apart_and_only_there(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **a, scope="src/Stra\u00dfe.py", bead_id="bd-1")
    lh("agents.reserve", **b, scope="src/strasse.py", bead_id="bd-1")
    lh("agents.release", **a, scope="src/Stra\u00dfe.py")
    lh("agents.release", **b, scope="src/strasse.py")
    settle(lh, folds_case=True)
    lh("agents.reserve", **a, scope="src/Stra\u00dfe.py", bead_id="bd-1")
    error = lh.refused("agents.reserve", **b, scope="SRC/STRASSE.PY", bead_id="bd-1")
    assert error["code"] == "RESERVATION_CONFLICT"


def test_on_windows_a_dot_or_a_blank_at_the_end_of_a_name_is_nothing() -> None:
    root = "C:\\work\\acme"
    plain = normalise("src/login.py", root=root)
    for spelled in (
        "src/login.py.",
        "src/login.py ",
        "SRC. /login.PY",
        "c:/work/ACME/src/login.py",
    ):
        assert overlap(normalise(spelled, root=root), plain) == "exact"


def test_a_path_outside_is_outside_however_it_is_written() -> None:
    for spelled in ("../other", "/etc/passwd", "src/../../other"):
        with pytest.raises(InvalidInput):
            normalise(spelled, root="/home/team/acme")
