"""Reading anchors: the list, one anchor with its cards, the map as text, and lint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.memory import ENDLESS, target_info, target_of
from longhouse.memory.graph import nodes_tagged
from longhouse.store.tx import Tx
from longhouse.thinking.anchors import anchor_from, anchor_named
from longhouse.thinking.finding import card_from
from longhouse.thinking.room import room, sql
from longhouse.thinking.types.anchors import (
    Anchor,
    AnchorExport,
    AnchorIssue,
    AnchorLint,
    AnchorList,
    AnchorSnapshot,
    AnchorStats,
    AnchorTask,
    ExportAnchors,
    LinkedCard,
    LintAnchors,
    ListAnchors,
    SnapshotAnchor,
)
from longhouse.thinking.vocabulary import CANON, PINNED, TYPES, has_draft_marker

__all__ = ["AnchorLens", "lens_on", "list_anchors", "snapshot_anchor"]

_LOOKED_AT = 200
_ORDER = ("decision", "evidence", "test")


class AnchorLens(NamedTuple):
    """An anchor with the cards about it."""

    anchor: Anchor
    stats: AnchorStats
    cards: list[LinkedCard]
    linked: list[LinkedCard]


def all_anchors(tx: Tx) -> list[Anchor]:
    """Every anchor with its aliases, in order of id."""
    aliases: dict[str, list[str]] = {}
    for row in tx.all(sql.aliases_all):
        aliases.setdefault(row["anchor_id"], []).append(row["alias"])
    return [anchor_from(row, aliases.get(row["anchor_id"], [])) for row in tx.all(sql.anchors_all)]


@room.command(
    "think.anchor.list",
    also="anchors anchors.list",
    example=ListAnchors(),
    trim=[
        Drop("anchors.description"),
        Pop("anchors", leave=1),
        Drop("anchors.refs"),
        Drop("anchors.aliases"),
    ],
)
def list_anchors(tx: Tx, req: ListAnchors) -> AnchorList:
    """List anchors that match, in order of id."""
    text = (req.text or "").lower()
    found = [
        anchor
        for anchor in all_anchors(tx)
        if req.kind in (None, anchor.kind)
        and req.status in (None, anchor.status)
        and text in f"{anchor.id} {anchor.title} {anchor.description or ''}".lower()
    ]
    return AnchorList(
        anchors=found[: req.limit],
        count=min(len(found), req.limit),
        has_more=len(found) > req.limit,
    )


def lens_on(tx: Tx, name: str, *, drafts: bool, limit: int) -> AnchorLens | None:
    """An anchor with its cards; None if it does not exist and no card has its tag."""
    anchor = anchor_named(tx, name)
    names = [anchor.id, *anchor.aliases] if anchor else [name.lower()]
    newest: dict[str, LinkedCard] = {}
    links = 0
    for tag in names:
        rows = nodes_tagged(tx, tag, before=ENDLESS, limit=_LOOKED_AT + 1)
        links += len(rows)
        for row in rows[:_LOOKED_AT]:
            if row["type"] in TYPES:
                made = LinkedCard(**_fields(row), branch=row["branch"], doc=row["doc"])
                kept = newest.get(made.id)
                if kept is None or kept.last_seq < made.last_seq:
                    newest[made.id] = made
    linked = sorted(newest.values(), key=lambda card: (-card.last_seq, card.id))
    if anchor is None and not linked:
        return None
    shown = [card for card in linked if drafts or _canonical(card)]
    shown.sort(key=_rank)
    if anchor is None:
        anchor = _unregistered(name.lower(), linked)
        tx.warn(
            "ANCHOR_UNREGISTERED",
            f"cards are tagged {anchor.id}, but the anchor does not exist",
            "create it with think.macro.anchor.note or think.anchor.bootstrap",
        )
    return AnchorLens(
        anchor,
        AnchorStats(links_count=min(links, _LOOKED_AT), links_has_more=links > _LOOKED_AT),
        shown[:limit],
        linked,
    )


def _fields(row: dict[str, Any]) -> dict[str, Any]:
    card = card_from(row)
    return {name: getattr(card, name) for name in card.__struct_fields__}


def _canonical(card: LinkedCard) -> bool:
    """Pinned, tagged `v:canon`, or a decision, evidence or test; and not marked as a draft."""
    if has_draft_marker(card.tags):
        return False
    return PINNED in card.tags or CANON in card.tags or card.type in _ORDER


def _rank(card: LinkedCard) -> tuple[bool, bool, int, int, str]:
    kind = _ORDER.index(card.type) if card.type in _ORDER else len(_ORDER)
    return (PINNED not in card.tags, not _canonical(card), kind, -card.last_seq, card.id)


def _unregistered(name: str, linked: list[LinkedCard]) -> Anchor:
    return Anchor(
        id=name,
        title=name.removeprefix("a:").replace("-", " ").capitalize(),
        kind="component",
        status="active",
        refs=[],
        depends_on=[],
        created_at_ms=min(card.last_ts_ms for card in linked),
        updated_at_ms=max(card.last_ts_ms for card in linked),
        registered=False,
    )


@room.command(
    "think.anchor.snapshot",
    example=SnapshotAnchor(anchor="a:cache"),
    trim=[
        Clip("cards.text", 200),
        Drop("cards.meta"),
        Pop("tasks", leave=1),
        Pop("cards", leave=1),
        Drop("anchor.description"),
        Drop("anchor.refs"),
        Clip("cards.text", 80),
        Pop("tasks"),
    ],
)
def snapshot_anchor(tx: Tx, req: SnapshotAnchor) -> AnchorSnapshot:
    """Show everything known about one part of the system, settled cards first."""
    drafts = req.include_drafts or req.all_lanes
    lens = lens_on(tx, req.anchor, drafts=drafts, limit=req.limit)
    if lens is None:
        raise unknown_anchor(req.anchor)
    return AnchorSnapshot(
        anchor=lens.anchor,
        scope={"anchors": [lens.anchor.id, *lens.anchor.aliases], "drafts": drafts},
        stats=lens.stats,
        tasks=_tasks(tx, lens.linked, req.tasks_limit),
        cards=lens.cards,
        count=len(lens.cards),
    )


def unknown_anchor(name: str) -> UnknownId:
    return UnknownId(
        f"anchor: there is no {name[:80]}, and no card is tagged with it",
        recovery="copy an id from think.anchor.list, or create it with think.macro.anchor.note",
        suggest=[Suggestion(ListAnchors(), "list the anchors")],
    )


def _tasks(tx: Tx, linked: list[LinkedCard], limit: int) -> list[AnchorTask]:
    """The tasks and plans that have cards about the anchor, newest first."""
    found: dict[str, list[LinkedCard]] = {}
    for card in linked:
        if target := target_of(card.branch):
            found.setdefault(target, []).append(card)
    newest = {target: max(card.last_ts_ms for card in cards) for target, cards in found.items()}
    tasks = []
    for target in sorted(found, key=lambda one: (-newest[one], one))[:limit]:
        try:
            info = target_info(tx, target)
        except UnknownId:
            continue
        tasks.append(
            AnchorTask(
                id=target,
                title=info.title,
                status=info.status,
                cards=len(found[target]),
                last_ts_ms=newest[target],
            )
        )
    return tasks


@room.command("think.anchor.export", example=ExportAnchors(), trim=[Clip("text", 200)])
def export_anchors(tx: Tx, req: ExportAnchors) -> AnchorExport:
    """Export the map of anchors as a Mermaid diagram or as text."""
    anchors = all_anchors(tx)
    made = _mermaid(anchors) if req.format == "mermaid" else _plain(anchors)
    return AnchorExport(format=req.format, count=len(anchors), text="\n".join(made))


def _mermaid(anchors: list[Anchor]) -> Iterator[str]:
    yield "graph TD"
    for anchor in anchors:
        title = anchor.title.replace('"', "'").replace("\n", " ")
        yield f'  {_node(anchor.id)}["{title} ({anchor.kind})"]'
    for anchor in anchors:
        if anchor.parent_id:
            yield f"  {_node(anchor.parent_id)} --> {_node(anchor.id)}"
        for other in anchor.depends_on:
            yield f"  {_node(anchor.id)} -.-> {_node(other)}"


def _node(anchor_id: str) -> str:
    return anchor_id.replace(":", "_")


def _plain(anchors: list[Anchor]) -> Iterator[str]:
    yield f"anchors {len(anchors)}"
    for anchor in anchors:
        parts = [f"{anchor.id} {anchor.kind} {anchor.status}: {' '.join(anchor.title.split())}"]
        if anchor.parent_id:
            parts.append(f"in {anchor.parent_id}")
        if anchor.depends_on:
            parts.append(f"needs {', '.join(anchor.depends_on)}")
        if anchor.aliases:
            parts.append(f"also {', '.join(anchor.aliases)}")
        yield " | ".join(parts)


@room.command(
    "think.anchor.lint",
    example=LintAnchors(),
    trim=[Pop("issues", leave=1), Clip("issues.message", 80)],
)
def lint_anchors(tx: Tx, req: LintAnchors) -> AnchorLint:
    """Find broken relations and aliases of anchors, and anchors without cards."""
    issues = sorted(_faults(tx), key=lambda one: (one.severity, one.code, one.anchor, one.message))
    return AnchorLint(
        ok=not issues,
        issues=issues[: req.limit],
        count=min(len(issues), req.limit),
        has_more=len(issues) > req.limit,
    )


def _faults(tx: Tx) -> Iterator[AnchorIssue]:
    anchors = {anchor.id: anchor for anchor in all_anchors(tx)}
    aliases = {row["alias"]: row["anchor_id"] for row in tx.all(sql.aliases_all)}

    def error(code: str, anchor: str, message: str) -> AnchorIssue:
        return AnchorIssue(severity="error", code=code, anchor=anchor, message=message)

    def warning(code: str, anchor: str, message: str) -> AnchorIssue:
        return AnchorIssue(severity="warning", code=code, anchor=anchor, message=message)

    for alias, owner in sorted(aliases.items()):
        if owner not in anchors:
            said = f"{alias} is an alias of {owner}, which does not exist"
            yield error("ALIAS_DANGLING", alias, said)
        if alias in anchors:
            yield warning("ALIAS_COLLIDES_WITH_ANCHOR_ID", alias, f"{alias} is also an anchor id")
    for anchor in anchors.values():
        if anchor.parent_id == anchor.id:
            yield error("SELF_PARENT", anchor.id, f"{anchor.id} is its own parent")
        if anchor.id in anchor.depends_on:
            yield error("SELF_DEPENDS_ON", anchor.id, f"{anchor.id} depends on itself")
        related = [("UNKNOWN_PARENT", anchor.parent_id)] if anchor.parent_id else []
        related += [("UNKNOWN_DEPENDS_ON", other) for other in anchor.depends_on]
        for code, other in related:
            if other in aliases and other not in anchors:
                said = f"{anchor.id} names {other}, an alias of {aliases[other]}"
                yield warning("RELATION_USES_ALIAS", anchor.id, said)
            elif other not in anchors:
                yield error(code, anchor.id, f"{anchor.id} names {other}, which does not exist")
        if _in_a_circle(anchors, anchor):
            yield error("PARENT_CYCLE", anchor.id, f"{anchor.id} is its own ancestor")
        if anchor.status != "deprecated" and not _is_used(tx, anchor):
            yield warning("ORPHAN_ANCHOR", anchor.id, f"no card is tagged {anchor.id}")


def _in_a_circle(anchors: dict[str, Anchor], anchor: Anchor) -> bool:
    seen, at = {anchor.id}, anchor.parent_id
    while at is not None and at in anchors:
        if at == anchor.id:
            return anchor.parent_id != anchor.id
        if at in seen:
            return False
        seen.add(at)
        at = anchors[at].parent_id
    return False


def _is_used(tx: Tx, anchor: Anchor) -> bool:
    return any(
        nodes_tagged(tx, tag, before=ENDLESS, limit=1) for tag in (anchor.id, *anchor.aliases)
    )
