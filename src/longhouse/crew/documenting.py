"""Messages as search reads them back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from longhouse.crew.room import room, sql
from longhouse.store.engine import Row
from longhouse.store.recall.documents import Document, Visibility
from longhouse.store.recall.index import Text
from longhouse.store.recall.subjects import seqs_in
from longhouse.store.tx import Tx

__all__ = ["message_text", "messages_to_index", "read_messages"]


def messages_to_index(tx: Tx, after: int, limit: int) -> list[int]:
    return [row["seq"] for row in tx.all(sql.messages_from, after=after, limit=limit)]


@room.searchable("message", messages_to_index)
def read_messages(tx: Tx, seqs: Sequence[int], look: Visibility) -> Iterable[Document]:
    """The messages at these seqs; one that went to several is one thing."""
    here = [seq for seq in seqs_in(tx, seqs, "crew") if look.as_of is None or seq <= look.as_of]
    asked = [tx.ask(sql.message_by_seq, seq=seq) for seq in here]
    for row in (rows[0] for rows in (tx.answers(asked) if asked else ()) if rows):
        yield _document(row)


def message_text(row: Row) -> Text:
    """What a message is found by."""
    return _document(row).text()


def _document(row: Row) -> Document:
    said = hashlib.sha256(f"{row['subject']}\n{row['body']}".encode()).hexdigest()[:16]
    bead = row["bead_id"]
    return Document(
        kind="message",
        ref=f"{bead}@{row['seq']}",
        seq=row["seq"],
        ts_ms=row["created_at_ms"],
        thing=f"message {row['thread_id']} {said}",
        title=row["subject"],
        body=row["body"],
        ids=(bead, row["thread_id"]),
        author=row["from_agent"],
        task=bead if bead.startswith(("TASK-", "PLAN-")) else None,
        type=row["category"],
    )
