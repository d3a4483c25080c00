"""`docs.transcripts.digest`: the outcome of this project's recent sessions, newest first.

A bounded head of each file identifies the project, and a bounded tail holds the message.
"""

from __future__ import annotations

import re
from typing import BinaryIO

from longhouse.kernel.budget import Clip, Pop
from longhouse.kernel.errors import LonghouseError, Suggestion
from longhouse.kernel.registry import Role
from longhouse.kernel.terminal import pictured
from longhouse.store.tx import Tx
from longhouse.thinking.room import room
from longhouse.thinking.transcripts.access import belongs, project_prefix
from longhouse.thinking.transcripts.folders import (
    File,
    TranscriptRoot,
    files_of,
    open_file,
    root_of,
)
from longhouse.thinking.transcripts.messages import (
    TranscriptHeader,
    message_of,
    record_of,
)
from longhouse.thinking.transcripts.reading import BytesLeft, beginning, ending
from longhouse.thinking.types.transcripts import (
    MIB,
    DigestItem,
    DigestTranscripts,
    Filters,
    Scanned,
    Spoken,
    TranscriptDigest,
    TranscriptRef,
)

__all__ = ["digest_transcripts", "looks_like_a_summary"]

TAIL = 256 << 10
_HEADING = re.compile(
    r"^[ \t]{0,8}(?:#{1,6}[ \t]{0,8}|\*\*)?"
    r"(?:summary|in summary|tl;?dr|what (?:i|we) did|what changed|changes|done"
    r"|results?|outcome|conclusion|next steps?|handoff)\b",
    re.IGNORECASE | re.MULTILINE,
)


def looks_like_a_summary(text: str) -> bool:
    """Whether a message is a summary: one of its lines starts like a summary heading."""
    return _HEADING.search(text) is not None


@room.command(
    "docs.transcripts.digest",
    role=Role.AGENT,
    slow=True,
    example=DigestTranscripts(),
    trim=[
        Clip("digest.message.text", 400),
        Pop("digest", leave=1),
        Clip("digest.message.text", 80),
    ],
)
def digest_transcripts(tx: Tx, req: DigestTranscripts) -> TranscriptDigest:
    """Show the outcome of this project's recent sessions, newest first."""
    prefix = project_prefix(tx, req.cwd_prefix)
    root = root_of(tx, req.root_dir)
    budget = BytesLeft(req.max_bytes_total)
    found: list[DigestItem] = []
    files = 0
    for file in files_of(root)[: req.max_files]:
        if len(found) >= req.max_items or budget.truncated:
            break
        files += 1
        if item := _item(tx, root, file, req.mode, prefix, budget):
            found.append(item)
    if budget.truncated:
        _advise(tx, req, len(found))
    return TranscriptDigest(
        root_dir=str(root.path),
        roots=root.known,
        filters=Filters(cwd_prefix=prefix, mode=req.mode),
        scanned=Scanned(files=files, bytes=budget.read, truncated=budget.truncated),
        digest=found,
    )


def _item(
    tx: Tx, root: TranscriptRoot, file: File, mode: str, prefix: str, budget: BytesLeft
) -> DigestItem | None:
    """The last message of a session that fits the mode."""
    try:
        with open_file(root, file.name) as (opened, size):
            header, head = _head(opened, size, budget, prefix)
            if not belongs(tx, header, prefix):
                return None
            if size <= len(head):
                start, tail = 0, head
            else:
                start, tail = ending(opened, size, TAIL, budget)
    except (OSError, LonghouseError):
        return None
    at, last = start, None
    for number, line in enumerate(tail.split(b"\n"), 1):
        whole = number > 1 or not start  # the first line may be cut off
        record = record_of(line) if whole else None
        message = message_of(record) if record else None
        spoken = message is not None and message.role == "assistant"
        if message and spoken and (mode == "last" or looks_like_a_summary(message.text)):
            last = (at, number, message)
        at += len(line) + 1
    if last is None:
        return None
    byte, line_number, message = last
    return DigestItem(
        ref=TranscriptRef(path=file.name, line=line_number if not start else None, byte=byte),
        session=header.session,
        message=Spoken(role="assistant", ts=message.ts, text=pictured(message.text)),
    )


def _head(
    opened: BinaryIO, size: int, budget: BytesLeft, prefix: str
) -> tuple[TranscriptHeader, bytes]:
    """The beginning; of a file that is more than may be read, half of the budget is for the end."""
    if size <= budget.left:
        return beginning(opened, size, budget, prefix)
    share = BytesLeft(budget.left // 2)
    found = beginning(opened, size, share, prefix)
    budget.take(share.read)
    budget.truncated = budget.truncated or share.truncated
    return found


def _advise(tx: Tx, req: DigestTranscripts, found: int) -> None:
    """Say that the byte budget ended the digest, and offer a larger one."""
    more = min(max(64 * MIB, req.max_bytes_total * 2), 256 * MIB)
    tx.warn(
        "TRANSCRIPTS_SCAN_TRUNCATED",
        f"only {req.max_bytes_total} bytes were read, so sessions or messages may be missing"
        if found
        else f"nothing was found in the first {req.max_bytes_total} bytes",
        f"pass max_bytes_total={more}, or mode=last",
    )
    where = {"root_dir": req.root_dir, "cwd_prefix": req.cwd_prefix, "max_items": req.max_items}
    files = min(req.max_files * 2, 2048)
    tx.suggestions += [
        Suggestion(
            DigestTranscripts(**where, mode=req.mode, max_bytes_total=more, max_files=files),  # type: ignore[arg-type]
            "read more of the files",
            priority="medium",
        ),
        Suggestion(
            DigestTranscripts(
                **where,  # type: ignore[arg-type]
                mode="last",
                max_bytes_total=req.max_bytes_total,
                max_files=req.max_files,
            ),
            "take the last message of each session instead",
            priority="low",
        ),
    ]
