"""Builds the page before a distribution is made, and puts the manual into the wheel.

An sdist has the page already, and needs no Node. The manual goes without its pictures: it is read
in a terminal there, and they would be half of the wheel.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface[Any]):
    """Runs `tools.page` where the sources of the page are."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel":
            for page in (Path(self.root) / "docs").glob("*.md"):
                build_data["force_include"][str(page)] = f"longhouse/docs/{page.name}"
        if version != "editable" and (Path(self.root) / "web").is_dir():
            subprocess.run([sys.executable, "-m", "tools.page"], cwd=self.root, check=True)
