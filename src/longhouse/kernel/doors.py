"""Doors: the public names of a package, each imported when it is first used.

A package's `__init__.py` is its door. It lists what others may use as plain imports, which only
type checkers execute; at run time the same lines say where a name is defined:

    if TYPE_CHECKING:
        from longhouse.jobs.radar import radar_of_task
    else:
        __getattr__ = door(__name__)

So `from longhouse.jobs import radar_of_task` loads one module of the room and not all of them, and
a public name is written once. A door may also offer a whole module, if that reads better:
`from longhouse.supervisor import guard`. `make check` lets nobody past a door.
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # the process host uses doors, and importing typing would cost time
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["door", "public_names"]


def door(package: str) -> Callable[[str], object]:
    """The `__getattr__` of a package whose public names are listed in its `__init__.py`."""
    homes: dict[str, str] = {}

    def found(name: str) -> object:
        if not homes:
            homes.update(public_names(package))
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:  # a module that is public as a whole
            return import_module(f"{package}.{name}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return found


def public_names(package: str) -> dict[str, str]:
    """Each public name of a package, and the module that defines it, as its door lists them."""
    spec = sys.modules[package].__spec__
    source = spec.loader.get_data(spec.origin).decode()  # type: ignore[union-attr]
    listed = source.partition("\nif TYPE_CHECKING:\n")[2].partition("\nelse:\n")[0]
    lines = (line.partition("#")[0] for line in listed.splitlines())
    homes = {}
    for statement in " ".join(lines).split(" from ")[1:]:
        home, _, names = statement.partition(" import ")
        for name in names.strip(" ()").split(","):
            if name.strip():
                homes[name.split()[0]] = home.strip()
    return homes
