"""`longhouse where`: the folders of this project."""

from __future__ import annotations

from longhouse.config import user_file
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import fields
from longhouse.surfaces.cli.spec import Command, Shown


def run(cli: Cli) -> Shown:
    settings = cli.settings
    own, project = user_file(), settings.place.project
    data = {
        "project": str(settings.project_root),
        "id": project.id if project else None,
        "store": str(settings.dir),
        "exists": settings.dir.is_dir(),
        "database": settings.store,
        "artifacts": str(settings.artifacts or "in the database"),
        "cache": str(settings.cache),
        "settings": str(own.parent) if own else None,
    }
    shown = {**data, "store": f"{settings.dir}{'' if data['exists'] else ' (not made yet)'}"}
    del shown["exists"]
    return Shown(data, fields([(name, value) for name, value in shown.items() if value]))


command = Command(
    "where",
    "Show where this project's store, cache and settings are",
    run=run,
    details="Reads nothing from the store, and makes none.",
    examples=["longhouse where", "longhouse where --json"],
)
