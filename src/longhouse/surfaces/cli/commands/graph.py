"""`longhouse graph`: the reasoning graph as text, Mermaid or DOT."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import flat
from longhouse.surfaces.cli.spec import AS_OF, Command, Flag, Shown


def run(
    cli: Cli,
    mermaid: bool = False,
    dot: bool = False,
    type: list[str] | None = None,
    tag: list[str] | None = None,
    **asked: Any,
) -> Shown:
    page = cli.call(
        "graph.query", types=type or None, tags_all=tag or None, budget_profile="audit", **asked
    )
    draw = _mermaid if mermaid else _dot if dot else _text
    return Shown(page, draw(cli, page))


def _text(cli: Cli, page: dict[str, Any]) -> Iterator[str]:
    """Each node with its outgoing edges, newest first."""
    style = cli.out.style
    leaving: dict[str, list[dict[str, Any]]] = {}
    for edge in page["edges"]:
        leaving.setdefault(edge["from"], []).append(edge)
    for node in page["nodes"]:
        status = f" [{node['status']}]" if node.get("status") else ""
        tags = " ".join(f"#{tag}" for tag in node.get("tags", []))
        head = f"{style(node['id'], 'yellow')} {style(node['type'], 'blue')}{status}"
        title = flat(node.get("title") or "")
        yield "  ".join(filter(None, (head, title, style(tags, "dim") if tags else "")))
        for edge in leaving.get(node["id"], []):
            yield f"    {edge['rel']} → {edge['to']}"
    if not page["nodes"]:
        yield f"no nodes in {page['doc']} on {page['branch']}"
    if page["pagination"]["has_more"]:
        yield style(f"more: --cursor {page['pagination']['next_cursor']}", "dim")


def _mermaid(cli: Cli, page: dict[str, Any]) -> Iterator[str]:
    """A flowchart; nodes are numbered, because their ids may contain any character."""
    names = {node["id"]: f"n{number}" for number, node in enumerate(page["nodes"])}
    yield "flowchart LR"
    for node in page["nodes"]:
        yield f'    {names[node["id"]]}["{_escaped(_label(node, "<br>"))}"]'
    for edge in page["edges"]:
        yield f'    {names[edge["from"]]} -->|"{_escaped(edge["rel"])}"| {names[edge["to"]]}'


def _dot(cli: Cli, page: dict[str, Any]) -> Iterator[str]:
    yield "digraph reasoning {"
    yield "    rankdir=LR; node [shape=box];"
    for node in page["nodes"]:
        yield f"    {_quoted(node['id'])} [label={_quoted(_label(node, chr(10)))}];"
    for edge in page["edges"]:
        ends = f"{_quoted(edge['from'])} -> {_quoted(edge['to'])}"
        yield f"    {ends} [label={_quoted(edge['rel'])}];"
    yield "}"


def _label(node: dict[str, Any], newline: str) -> str:
    status = f" ({node['status']})" if node.get("status") else ""
    return newline.join(filter(None, (f"{node['id']}{status}", node.get("title"))))


def _escaped(text: str) -> str:
    """The text with HTML entities for characters that would end a Mermaid label."""
    kept = text.replace("<br>", "\0").replace("&", "&amp;").replace('"', "&quot;")
    return kept.replace("<", "&lt;").replace(">", "&gt;").replace("\0", "<br>")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


command = Command(
    "graph",
    "Draw the reasoning graph as text, Mermaid or DOT",
    flags=[
        Flag("mermaid", "as a Mermaid flowchart"),
        Flag("dot", "as Graphviz DOT"),
        Flag("branch", "the branch to read", "BRANCH"),
        Flag("target", "the plan or task to read", "ID"),
        Flag("doc", "the document (default: graph)", "DOC"),
        Flag("type", "only nodes of this type", "TYPE", many=True, field="types"),
        Flag("status", "only nodes with this status", "STATUS"),
        Flag("tag", "only nodes with this tag", "TAG", many=True, field="tags_all"),
        Flag("text", "only nodes with these words", "WORDS"),
        Flag("limit", "how many nodes (default: 50)", "N", kind=int),
        Flag("cursor", "continue below this seq", "SEQ", kind=int),
        AS_OF,
    ],
    run=run,
    calls="graph.query",
    examples=[
        "longhouse graph",
        "longhouse graph --branch idea/cache --status open",
        "longhouse graph --mermaid > graph.mmd",
        "longhouse graph --dot | dot -Tsvg > graph.svg",
    ],
)
