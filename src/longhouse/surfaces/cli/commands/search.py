"""`longhouse search`: ask in plain words what was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown


def run(cli: Cli, text: Sequence[str], newest: bool = False, **where: str) -> Shown:
    given: dict[str, Any] = {**where, "order": "newest"} if newest else dict(where)
    result = cli.call("docs.search", text=" ".join(text), **given)
    return Shown(
        result,
        list(_lines(cli, result)),
        ok=bool(result["hits"] or (result.get("transcripts") or {}).get("hits")),
    )


def _lines(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    for hit in result["hits"]:
        named = hit["kind"] if hit["kind"] != "node" else hit.get("type", "node")
        place = [named, hit.get("who"), hit["ts"][:10], hit.get("task"), hit.get("status")]
        said = " · ".join(str(part) for part in place if part)
        mark = ""
        if hit.get("gone"):
            instead = f", see {hit['instead']}" if hit.get("instead") else ""
            mark = cli.out.style(f"  {hit['gone']}{instead}", "red")
        yield f"{cli.out.style(hit['ref'], 'yellow')}  {cli.out.style(said, 'dim')}{mark}"
        if hit.get("title"):
            yield f"  {cli.out.style(hit['title'], 'bold')}"
        if hit["text"]:
            yield f"  {hit['text']}"
        for near in hit.get("around") or ():
            yield f"    {cli.out.style(near['ref'], 'dim')} {near['text']}"
    spoken = result.get("transcripts") or {"hits": []}
    for hit in spoken["hits"]:
        place = [f"{hit['path']}:{hit['line']}", hit["role"], (hit.get("ts") or "")[:10]]
        said = " · ".join(part for part in place if part)
        yield f"{cli.out.style('transcript', 'yellow')}  {cli.out.style(said, 'dim')}"
        yield f"  {hit['text']}"
    if not result["hits"] and not spoken["hits"]:
        yield "nothing found"
    if spoken.get("scanned", {}).get("truncated"):
        yield "only the newest sessions were read; --kind transcript reads more"
    for word, near in (result.get("unknown") or {}).items():
        yield f"{word!r} is found nowhere" + (f"; nearest: {', '.join(near)}" if near else "")
    if result.get("bounded"):
        yield f"only the newest mentions of {', '.join(result['bounded'])} were considered"
    if result.get("indexed_percent") is not None:
        yield f"the index is being built: {result['indexed_percent']} % is in it"
    if result["pagination"]["has_more"]:
        yield f"more: --cursor {result['pagination']['next_cursor']}"


command = Command(
    "search",
    "Ask in plain words what was written, by anyone, anywhere in the workspace",
    args=[Arg("text", 'the question; "quoted words", -word and word* work', many=True)],
    flags=[
        Flag("kind", "only this kind: note, card, task, job, message, …", "KIND"),
        Flag("author", "only by this agent or person", "NAME"),
        Flag("task", "only about this plan or task", "ID"),
        Flag("since", "not older: 2026-05-01, 12h, 7d", "TIME"),
        Flag("path", "only what names this file or folder", "PATH"),
        Flag("branch", "only what this branch shows", "BRANCH"),
        Flag("newest", "everything with all words as written, newest first"),
        Flag("around", "also show so many neighbors in time", "N", kind=int),
        Flag("limit", "at most so many hits", "N", kind=int),
        Flag("cursor", "go on after an earlier page", "CURSOR", kind=int),
    ],
    run=run,
    calls="docs.search",
    examples=[
        "longhouse search why does the login test fail",
        "longhouse search 'cookie expiry' --kind decision --since 30d",
    ],
    details="The exit code is 1 if nothing is found.",
)
