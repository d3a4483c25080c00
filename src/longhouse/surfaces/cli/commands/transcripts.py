"""`longhouse transcripts`: agents' session transcripts on this machine, for this project."""

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
    Flag("max-files", "open at most this many files", "N", kind=int),
    Flag("max-bytes-total", "read at most this many bytes", "N", kind=int),
)


def show_hits(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    for hit in result["hits"]:
        ref, said = hit["ref"], hit["message"]
        head = f"{ref['path']}:{ref['line']}  {said['role']}  {said.get('ts', '')}".rstrip()
        yield cli.out.style(head, "yellow")
        yield f"    {' '.join(said['snippet'].split())}"
    scanned = result["scanned"]
    more = ", and there are more" if result["has_more_hits"] else ""
    found = f"{many(len(result['hits']), 'hit')} in {many(scanned['files'], 'file')}{more}"
    yield cli.out.style(found, "dim")


def show_digest(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    for item in result["digest"]:
        said = item["message"]
        head = f"{item['ref']['path']}@{item['ref']['byte']}  {said.get('ts', '')}".rstrip()
        yield cli.out.style(head, "yellow")
        yield from (f"    {line}" for line in said["text"].splitlines())
    if not result["digest"]:
        yield f"no matching messages in {result['root_dir']}"


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
    "Search agents' transcripts of sessions in this project; nothing is stored",
    children=[
        Command(
            "search",
            "Find text in transcripts; case-sensitive",
            args=[Arg("query", "the text to find")],
            flags=[
                *SCOPE,
                Flag("role", "only messages of this role, such as user", "ROLE"),
                Flag("hits-limit", "how many hits (default: 25)", "N", kind=int),
                Flag("context-chars", "characters on each side (default: 240)", "N", kind=int),
            ],
            calls="docs.transcripts.search",
            show=show_hits,
            examples=["longhouse transcripts search 'cache' --root-dir claude"],
        ),
        Command(
            "digest",
            "Show how recent sessions ended",
            flags=[
                *SCOPE,
                Flag("mode", "which message to show", "MODE", choices=("summary", "last")),
                Flag("max-items", "how many sessions (default: 6)", "N", kind=int),
            ],
            calls="docs.transcripts.digest",
            show=show_digest,
        ),
        Command(
            "open",
            "Show a transcript around one record",
            args=[Arg("path", "the file, as shown by search")],
            flags=[
                ROOT,
                Flag("line", "the line, counted from 1", "N", kind=int),
                Flag("byte", "or the byte offset of its line", "N", kind=int),
                Flag("before-lines", "how many lines before it (default: 8)", "N", kind=int),
                Flag("after-lines", "how many lines after it (default: 8)", "N", kind=int),
            ],
            run=open_at,
        ),
    ],
)
