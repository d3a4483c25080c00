"""Builds the page before a distribution is made; an sdist has it already, and needs no Node."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface[Any]):
    """Runs `tools.page` where the sources of the page are."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        if version != "editable" and (Path(self.root) / "web").is_dir():
            subprocess.run([sys.executable, "-m", "tools.page"], cwd=self.root, check=True)
