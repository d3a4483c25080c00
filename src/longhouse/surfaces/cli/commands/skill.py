"""`longhouse skill`: prints the skill file that teaches agents to work as a crew."""

from __future__ import annotations

from pathlib import Path

import longhouse
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Command, Shown

SKILL = Path(longhouse.__file__).parent / "crew" / "skill.md"


def show(cli: Cli) -> Shown:
    text = SKILL.read_text(encoding="utf-8")
    return Shown({"skill": text}, [text.rstrip("\n")])


command = Command(
    "skill",
    "Print the skill file that teaches agents to work as a crew",
    children=[
        Command(
            "print",
            "Print the skill file",
            run=show,
            examples=["longhouse skill print > .claude/skills/longhouse/SKILL.md"],
        )
    ],
)
