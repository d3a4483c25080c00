"""The npm lock files: the same on every system, and without registry addresses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SYSTEMS = ("darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64")


@pytest.fixture(params=["web", "tests/web"])
def lock(request: pytest.FixtureRequest) -> str:
    return (ROOT / request.param / "package-lock.json").read_text()


def packages(lock: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(lock)["packages"]
    return found


def test_a_lock_file_has_what_is_built_for_macos_and_for_linux_with_either_libc(lock: str) -> None:
    found = packages(lock)
    wanted = {
        f"node_modules/{name}"
        for package in found.values()
        for name in package.get("optionalDependencies", ())
        if any(system in name for system in SYSTEMS)
    }
    assert wanted <= set(found)


def test_a_lock_file_pins_digests_and_names_no_registry(lock: str) -> None:
    _, *others = packages(lock).values()
    assert others
    assert all(package["integrity"].startswith("sha512-") for package in others)
    assert not any("resolved" in package for package in others)
