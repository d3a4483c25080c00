"""`longhouse think`: reasoning cards, and what depends on them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import ago, fields, flat, table
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown

TYPES = (
    "frame",
    "hypothesis",
    "question",
    "test",
    "evidence",
    "decision",
    "note",
    "update",
    "knowledge",
)
CARD = Arg("card", "the card, such as CARD-12")
WHERE = (
    Flag("target", "the plan or task it is about (default: the focus)", "ID"),
    Flag("branch", "the branch it is on", "BRANCH"),
)
GRAPH = Flag("graph-doc", "the graph document (default: the branch's)", "DOC")
STEP = Flag("step", "the step of the task: focus, STEP-… or s:0", "STEP")


def add(
    cli: Cli,
    type: str,
    text: str,
    body: str | None = None,
    tag: list[str] | None = None,
    ref: list[str] | None = None,
    cmd: str | None = None,
    supports: list[str] | None = None,
    blocks: list[str] | None = None,
    **more: str,
) -> Shown:
    """Write a card; the first line is the title, the rest the text unless `body` is given."""
    said = sys.stdin.read() if text == "-" else text
    title, _, rest = said.strip().partition("\n")
    rest = body or rest
    card: dict[str, Any] = {"title": title[:1000]}
    if rest.strip() or len(title) > 1000:
        card["text"] = rest.strip() or title
    card |= {name: more.pop(name) for name in ("id", "status") if name in more}
    card |= {name: value for name, value in (("tags", tag), ("refs", ref)) if value}
    if cmd:
        card["meta"] = {"run": {"cmd": cmd}}
    made = cli.call(
        f"think.add.{type}", card=card, supports=supports or None, blocks=blocks or None, **more
    )
    what = "is created" if made["inserted"] else "is updated"
    if not made["inserted"] and "previous_version" not in made:
        what = "is unchanged"
    card_id = cli.out.style(made["card_id"], "yellow")
    return Shown(made, [f"{card_id} {what} on {made['branch']}"])


def _words_of_card(call: Mapping[str, Any]) -> dict[str, Any]:
    """A card as words and flags; fields that have no flag stay in `card`."""
    left = dict(call)
    card = dict(left.pop("card", {}))
    said = {"type": card.pop("type", None), "text": card.pop("title", None)}
    said |= {"body": card.pop("text", None)}
    said |= {name: card.pop(name) for name in ("id", "status") if name in card}
    said |= {
        flag: card.pop(name) for flag, name in (("tag", "tags"), ("ref", "refs")) if name in card
    }
    if set(card.get("meta", {})) == {"run"} and set(card["meta"]["run"]) == {"cmd"}:
        said["cmd"] = card.pop("meta")["run"]["cmd"]
    return {**left, **said, **({"card": card} if card else {})}


def show_list(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    rows = [
        {
            "card": card["id"],
            "type": card["type"],
            "status": card["status"],
            "when": ago(card["last_ts_ms"]),
            "says": " ".join((card.get("title") or card.get("text") or "").split()),
        }
        for card in result["cards"]
    ]
    yield from table(rows, ("card", "type", "status", "when", "says"))
    if not rows:
        yield f"no cards in {result['graph_doc']} on {result['branch']}"
    if result["pagination"]["has_more"]:
        yield cli.out.style(f"more: --cursor {result['pagination']['next_cursor']}", "dim")


def show(cli: Cli, card: str) -> Shown:
    result = cli.call("open", id=card)
    return Shown(result, list(_card(cli, result)) if result["kind"] == "card" else _other(result))


def _card(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    card, edges = result["card"], result["edges"]
    yield cli.out.style(flat(f"{card['id']}  {card.get('title', '')}".rstrip()), "bold")
    yield from fields(
        [
            ("type", card["type"]),
            ("status", card["status"]),
            ("tags", ", ".join(card["tags"])),
            ("supports", ", ".join(edges["supports"])),
            ("blocks", ", ".join(edges["blocks"])),
            ("supported by", ", ".join(edges.get("supported_by", []))),
            ("blocked by", ", ".join(edges.get("blocked_by", []))),
            ("cited by", ", ".join(one["ref"] for one in result.get("cited_by", []))),
            ("on", f"{result['head']['branch']}, {ago(result['head']['ts_ms'])}"),
        ]
    )
    yield from (f"  {line}" for line in (card.get("text") or "").splitlines())


def _other(result: dict[str, Any]) -> list[str]:
    return [f"{result.get('id') or result.get('ref')} is a {result['kind']}, not a card"]


def show_changed(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    for card in result["cards"]:
        pin = ", pinned" if card["pinned"] else ""
        yield f"{card['id']} is {card['status']}{pin}"


def show_blast(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    yield f"{result['card']['id']} is {result['card']['status']}; what depends on it:"
    yield from table(result["rests"], ("ref", "kind", "status", "via", "title"))
    if not result["rests"]:
        yield "  nothing"


command = Command(
    "think",
    "Record your reasoning as cards that support or block each other",
    children=[
        Command(
            "add",
            "Write a card",
            args=[
                Arg("type", "the type of card", choices=TYPES),
                Arg("text", "its title, with any further text on the lines below; - reads stdin"),
            ],
            flags=[
                Flag("body", "its text, instead of further lines", "TEXT"),
                Flag("id", "its id (default: the next one)", "CARD"),
                Flag("status", "open, accepted, done, … (default: open)", "STATUS"),
                Flag("supports", "a card it supports; may be repeated", "CARD", many=True),
                Flag("blocks", "a card it argues against; may be repeated", "CARD", many=True),
                Flag("tag", "a tag, such as a:storage; may be repeated", "TAG", many=True),
                Flag("ref", "a ref it cites, such as notes@12; may be repeated", "REF", many=True),
                Flag("cmd", "the command that runs this test", "COMMAND"),
                *WHERE,
                GRAPH,
                Flag("trace-doc", "the trace document (default: the branch's)", "DOC"),
                STEP,
            ],
            run=add,
            also={"think.card": "TYPE TEXT"},
            values_of=_words_of_card,
            examples=[
                "longhouse think add hypothesis 'The cache is stale'",
                "longhouse think add test 'Read after write' --supports CARD-3 --cmd 'make bench'",
            ],
        ),
        Command(
            "list",
            "List cards, newest first",
            flags=[
                Flag("types", "only this type; may be repeated", "TYPE", many=True),
                Flag("status", "only this status", "STATUS"),
                Flag("tags-all", "only with this tag; may be repeated", "TAG", many=True),
                Flag("text", "only with these words", "WORDS"),
                Flag("include-drafts", "include drafts"),
                Flag("limit", "how many (default: 50)", "N", kind=int),
                Flag("cursor", "continue below this seq", "SEQ", kind=int),
                *WHERE,
                GRAPH,
                STEP,
            ],
            calls="think.query",
            show=show_list,
        ),
        Command("show", "Show a card and its connections", args=[CARD], run=show),
        Command(
            "set",
            "Set the status of cards",
            args=[
                Arg("status", "open, accepted, done, rejected, …"),
                Arg("targets", "the cards", many=True),
            ],
            flags=WHERE,
            calls="think.set.status",
            show=show_changed,
            examples=["longhouse think set rejected CARD-4"],
        ),
        Command(
            "pin",
            "Pin cards, so that every view lists them first",
            args=[Arg("targets", "the cards", many=True)],
            flags=WHERE,
            calls="think.pin",
            show=show_changed,
        ),
        Command(
            "blast",
            "Show what depends on a card",
            args=[CARD],
            calls="think.blast",
            show=show_blast,
        ),
    ],
)
