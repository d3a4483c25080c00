"""Behavior packs: bounded, readable when cut, and true of this house."""

from __future__ import annotations

import itertools
import re

import pytest

from longhouse.desk.skill import skill_pack
from longhouse.kernel.delegation import SKILL_PROFILES
from longhouse.kernel.registry import Registry
from tests.kit import Lh


@pytest.mark.parametrize("profile", SKILL_PROFILES)
def test_every_command_that_a_pack_names_is_there(lh: Lh, profile: str) -> None:
    text = lh("system.skill", profile=profile)["text"]
    named = re.findall(r"`([a-z][a-z0-9_.]*)`", text)
    assert named
    assert not [cmd for cmd in named if cmd not in lh.house.registry.commands]
    assert "{" not in text


@pytest.mark.proves("DEL-078")
@pytest.mark.parametrize("profile", SKILL_PROFILES)
def test_a_cut_pack_stays_within_its_bound_and_readable(lh: Lh, profile: str) -> None:
    whole = lh.lines("system.skill", profile=profile)
    assert whole[0].startswith(f"skill profile={profile} version=")
    assert whole[1] == f"# {profile.upper()}"
    for chars in (1_200, 600, 300, 120, 80):
        cut = lh.lines("system.skill", profile=profile, max_chars=chars)
        assert len("\n".join(cut)) <= chars
        assert cut[0] == whole[0]
        kept = [line for line in cut if not line.startswith("MORE: ")]
        assert kept == whole[: len(kept)]  # whole lines, from the top
    text = lh("system.skill", profile=profile)["text"]
    for chars in (800, 300):
        part = lh("system.skill", profile=profile, max_chars=chars)
        assert part["truncated"]
        assert chars - 10 <= part["budget"]["used_chars"] <= chars  # as much as fits
        assert text.startswith(part["text"].rstrip("…"))


def test_the_same_call_gives_the_same_bytes_and_an_unknown_profile_is_refused(lh: Lh) -> None:
    assert lh("system.skill") == lh("system.skill", profile="daily")
    error = lh.refused("system.skill", profile="zen")
    assert error["code"] == "INVALID_INPUT"
    assert "daily" in error["message"]


def test_a_house_without_rooms_has_packs_without_calls() -> None:
    bare = skill_pack(Registry([]), "strict")
    assert "`" not in bare.replace("`CMD: <command you ran> (exit 0)`", "").replace(
        "`LINK: <url>`", ""
    )
    lines = bare.splitlines()
    assert not [a for a, b in itertools.pairwise(lines) if a[0] == b[0] == "["]
