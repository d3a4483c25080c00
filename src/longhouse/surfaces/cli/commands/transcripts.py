"""`longhouse transcripts`: what agents said on this machine in sessions of this project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import many
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown

ROOT = Flag("root-dir", "codex, claude, or a folder inside one (default: codex)", "DIR")
SCOPE = (
    ROOT,
    Flag("cwd-prefix", "sessions in this folder (default: this project)", "DIR"),
    Flag("max-files", "how many files to open", "N", kind=int),
    Flag("max-bytes-total", "how many bytes to read", "N", kind=int),
)


def show_hits(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    for hit in result["hits"]:
        ref, said = hit["ref"], hit["message"]
        head = f"{ref['path']}:{ref['line']}  {said['role']}  {said.get('ts', '')}".rstrip()
        yield cli.out.style(head, "yellow")
        yield f"    {' '.join(said['snippet'].split())}"
    scanned = result["scanned"]
    more = ", more there are" if result["has_more_hits"] else ""
    found = f"{many(len(result['hits']), 'hit')} in {many(scanned['files'], 'file')}{more}"
    yield cli.out.style(found, "dim")


def show_digest(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    for item in result["digest"]:
        said = item["message"]
        head = f"{item['ref']['path']}@{item['ref']['byte']}  {said.get('ts', '')}".rstrip()
        yield cli.out.style(head, "yellow")
        yield from (f"    {line}" for line in said["text"].splitlines())
    if not result["digest"]:
        yield f"nothing of that kind in {result['root_dir']}"


def open_at(
    cli: Cli, path: str, line: int | None = None, byte: int | None = None, **more: Any
) -> Shown:
    given = {name: value for name, value in (("line", line), ("byte", byte)) if value is not None}
    ref = {"path": path, **(given or {"line": 1})}
    result = cli.call("docs.transcripts.open", ref=ref, **more)
    lines: list[str] = []
    for entry in result["entries"]:
        at = f"{entry.get('line', '')}@{entry['byte']}".lstrip("@")
        lines.append(cli.out.style(f"{at}  {entry['role']}", "yellow"))
        lines += [f"    {text}" for text in entry["text"].splitlines()]
    return Shown(result, lines)


command = Command(
    "transcripts",
    "Search what agents said in sessions of this project; nothing is kept",
    children=[
        Command(
            "search",
            "Find what was said; case counts",
            args=[Arg("query", "the words to find")],
            flags=[
                *SCOPE,
                Flag("role", "only what this role said, such as user", "ROLE"),
                Flag("hits-limit", "how many hits (default: 25)", "N", kind=int),
                Flag("context-chars", "how much on each side (default: 240)", "N", kind=int),
            ],
            calls="docs.transcripts.search",
            show=show_hits,
            examples=["longhouse transcripts search 'cache' --root-dir claude"],
        ),
        Command(
            "digest",
            "Show what recent sessions came to",
            flags=[
                *SCOPE,
                Flag("mode", "which message counts", "MODE", choices=("summary", "last")),
                Flag("max-items", "how many sessions (default: 6)", "N", kind=int),
            ],
            calls="docs.transcripts.digest",
            show=show_digest,
        ),
        Command(
            "open",
            "Read around one record of a transcript",
            args=[Arg("path", "the file, as search shows it")],
            flags=[
                ROOT,
                Flag("line", "the line, counted from 1", "N", kind=int),
                Flag("byte", "or the byte at which its line begins", "N", kind=int),
                Flag("before-lines", "how many before it (default: 8)", "N", kind=int),
                Flag("after-lines", "how many after it (default: 8)", "N", kind=int),
            ],
            run=open_at,
        ),
    ],
)
