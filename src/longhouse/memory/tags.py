"""Tags: names for commits. `as_of` and the reflog still show tags that moved or were deleted."""

from __future__ import annotations

from longhouse.kernel.budget import Pop
from longhouse.kernel.errors import Conflict, Suggestion, UnknownId
from longhouse.memory.branches import ENDLESS, NOW
from longhouse.memory.branching import record_move
from longhouse.memory.commits import commit_at
from longhouse.memory.room import room, sql
from longhouse.memory.targeting import current_branch
from longhouse.memory.types.vcs import (
    CreateTag,
    DeleteTag,
    ListTags,
    Tag,
    TagCreated,
    TagDeleted,
    TagList,
)
from longhouse.store.tx import Tx

__all__ = ["create_tag", "delete_tag", "list_tags"]


@room.command(
    "vcs.tag.create",
    also="tag vcs.tag.add vcs.tag.new",
    writes=True,
    additive=True,
    example=CreateTag(name="v1", from_="notes@1"),
)
def create_tag(tx: Tx, req: CreateTag) -> TagCreated:
    """Tag a commit: the given one, else the one the checkout points at."""
    row = commit_at(tx, req.from_ if req.from_ is not None else current_branch(tx), "from")
    known = tx.one(sql.tag_now, name=req.name, endless=ENDLESS)
    if known and known["entry_seq"] != row["seq"] and not req.force:
        raise Conflict(
            f"name: tag {req.name!r} points at another commit",
            recovery="pass force=true to move it, or choose another name",
        )
    previous = None
    if known:
        old = tx.one(sql.entry_by_seq, seq=known["entry_seq"])
        previous = f"{old['doc']}@{old['seq']}" if old else None
    current = f"{row['doc']}@{row['seq']}"
    seq = tx.append("memory", req.name, "tag", {"previous": previous, "current": current})
    tx.one(sql.tag_end, name=req.name, seq=seq, endless=ENDLESS)
    tx.run(
        sql.tag_add, name=req.name, seq=seq, entry_seq=row["seq"], now=tx.now_ms, endless=ENDLESS
    )
    record_move(tx, seq, None, "tag", previous=previous, current=current, name=f"tags/{req.name}")
    tag = Tag(
        name=req.name,
        ref=current,
        seq=row["seq"],
        branch=row["branch"],
        doc=row["doc"],
        created_at_ms=tx.now_ms,
    )
    return TagCreated(tag=tag, previous=previous)


@room.command("vcs.tag.list", also="tags", example=ListTags(), trim=[Pop("tags", leave=1)])
def list_tags(tx: Tx, req: ListTags) -> TagList:
    """List tags in order of name."""
    cut = NOW if req.as_of is None else req.as_of
    rows = tx.all(sql.tags_listed, cut=cut, limit=req.limit + 1)
    tags = [Tag(ref=f"{row['doc']}@{row['seq']}", **row) for row in rows[: req.limit]]
    return TagList(tags=tags, count=len(tags), has_more=len(rows) > req.limit)


@room.command(
    "vcs.tag.delete",
    also="vcs.tag.remove untag",
    writes=True,
    destructive=True,
    example=DeleteTag(name="v1"),
)
def delete_tag(tx: Tx, req: DeleteTag) -> TagDeleted:
    """Delete a tag; the commit stays."""
    known = tx.one(sql.tag_now, name=req.name, endless=ENDLESS)
    if known is None:
        raise UnknownId(
            f"name: there is no tag {req.name!r}",
            recovery="list tags with vcs.tag.list",
            suggest=[Suggestion(ListTags(), "list the tags")],
        )
    entry = tx.one(sql.entry_by_seq, seq=known["entry_seq"])
    previous = f"{entry['doc']}@{entry['seq']}" if entry else None
    seq = tx.append("memory", req.name, "tag_deleted", {"previous": previous})
    tx.one(sql.tag_end, name=req.name, seq=seq, endless=ENDLESS)
    record_move(tx, seq, None, "untag", previous=previous, current=None, name=f"tags/{req.name}")
    return TagDeleted(name=req.name, deleted=True)
