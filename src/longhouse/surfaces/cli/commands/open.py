"""`longhouse open`: show anything by its id or ref."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import fields, view
from longhouse.surfaces.cli.spec import AS_OF, Arg, Command, Flag


def show(cli: Cli, result: dict[str, Any]) -> Iterable[str]:
    if result.get("kind") in ("task", "plan", "step"):
        return _work(cli, result)
    return view({name: item for name, item in result.items() if name != "truncated"})


def _work(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    """What is to be done and when it counts as done; the other fields are for programs."""
    from longhouse.desk import opened_parts

    if it := opened_parts(result):
        yield cli.out.style(it.title, "bold")
        yield from (f"  {line}" for line in it.text)
        said = [(name, text) for name, _, text in (one.partition("=") for one in it.said)]
        yield from fields([*said, *it.rows])


command = Command(
    "open",
    "Show anything by its id or ref",
    args=[Arg("id", "such as JOB-001, notes@12 or JOB-001@3")],
    flags=[
        Flag("limit", "how many events to show", "N", kind=int),
        Flag("include-drafts", "include what is usually left out, such as a job's prompt"),
        AS_OF,
    ],
    calls="open",
    show=show,
    examples=["longhouse open JOB-001", "longhouse open notes@12 --json"],
)
