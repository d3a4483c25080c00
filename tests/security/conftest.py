"""Rigs for attacks on a runner; see tests/runner/kit.py."""

from __future__ import annotations

from tests.runner.conftest import make_rig, rig

__all__ = ["make_rig", "rig"]
