"""Builds the page before a distribution is made, and adds the manual to the wheel.

An sdist already contains the page, so building from it needs no Node. The manual is added without
its pictures: it is read in a terminal, and they would be half of the wheel.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface[Any]):
    """Runs `tools.page` if the page's sources are present."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel":
            for page in (Path(self.root) / "docs").glob("*.md"):
                build_data["force_include"][str(page)] = f"longhouse/docs/{page.name}"
        if version != "editable" and (Path(self.root) / "web").is_dir():
            subprocess.run([sys.executable, "-m", "tools.page"], cwd=self.root, check=True)
