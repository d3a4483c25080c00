"""Parses lines of Codex rollouts and Claude Code sessions into one form.

Unknown and malformed lines are ignored, because clients add new kinds of records.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any, NamedTuple

import msgspec

from longhouse.kernel.terminal import pictured
from longhouse.thinking.types.transcripts import Project, TranscriptSession

__all__ = [
    "TranscriptHeader",
    "TranscriptMessage",
    "header_of",
    "is_below",
    "message_of",
    "project_of",
    "record_of",
]

_CWD = re.compile(r"<cwd>([^<]{1,1000})</cwd>")
_AGENTS = re.compile(r"AGENTS\.md instructions for (/[^\s<>\"'`]{1,1000})")
_RAW_CWD = re.compile(rb'"cwd"\s*:\s*"((?:[^"\\]|\\.){1,2000})"')
_EARLY = 12
_SHORT = 80


class TranscriptMessage(NamedTuple):
    """What was said; `text` is as written, and is pictured where it is shown."""

    role: str
    text: str
    ts: str | None


class TranscriptHeader(NamedTuple):
    """What the start of a file reveals about its session."""

    session: TranscriptSession
    hints: list[str]
    certain: bool

    @property
    def home(self) -> list[str]:
        """Where the session began; what its messages say counts only if its client did not say.

        A message may quote anything: a file of this project could name another one.
        """
        began = [self.session.cwd] if self.session.cwd else self.hints
        return [os.path.normpath(one) for one in began]


def record_of(line: bytes) -> dict[str, Any] | None:
    """The JSON object on a line, or None if there is none or it is malformed."""
    try:
        made = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return made if isinstance(made, dict) else None


def message_of(record: dict[str, Any]) -> TranscriptMessage | None:
    """The message in a record, or None if it holds none."""
    ts = record.get("timestamp")
    payload = record.get("payload")
    inner: Any = record.get("message")
    if isinstance(payload, dict):
        inner = payload if payload.get("type") == "message" else _completed(payload)
    elif record.get("type") == "message":
        inner = record
    if not isinstance(inner, dict) or not isinstance(inner.get("role"), str):
        return None
    text = "\n".join(_texts(inner.get("content")))
    if not text.strip():
        return None
    said = pictured(ts[:_SHORT]) if isinstance(ts, str) else None
    return TranscriptMessage(pictured(inner["role"][:_SHORT]), text, said)


def _completed(payload: dict[str, Any]) -> dict[str, Any] | None:
    """A user message in the form of newer rollouts."""
    item = payload.get("item")
    if payload.get("type") != "item_completed" or not isinstance(item, dict):
        return None
    if item.get("type") != "UserMessage":
        return None
    return {"role": "user", "content": item.get("content")}


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]


def header_of(head: bytes, prefix: str | None = None) -> TranscriptHeader:
    """The session and project hints in a file's first lines; stops early once `prefix` matches."""
    session: dict[str, str] = {}
    hints: list[str] = []
    certain = False
    early = 0
    for line in _lines(head):
        record = record_of(line)
        if record is None:
            continue
        meta = record.get("payload")
        if record.get("type") == "session_meta" and isinstance(meta, dict):
            _note(session, "id", meta.get("id") or meta.get("session_id"))
            _note(session, "ts", meta.get("timestamp") or record.get("timestamp"))
            hints += _strings(meta.get("instructions"))
        if isinstance(record.get("sessionId"), str):
            _note(session, "id", record["sessionId"])
            _note(session, "ts", record.get("timestamp"))
        holder = meta if isinstance(meta, dict) else record
        if isinstance(holder.get("cwd"), str) and holder["cwd"]:
            _note(session, "cwd", holder["cwd"])
            hints.insert(0, holder["cwd"])
            certain = True
        message = message_of(record)
        if message is not None:
            early += 1
            hints += _paths(message.text)
        enough = prefix is not None and "id" in session and is_below(hints[:1], prefix)
        if certain and (early >= _EARLY or enough):
            break
    if not hints and (raw := _RAW_CWD.search(head)):
        hints.append(raw[1].decode(errors="replace").replace("\\/", "/"))
    return TranscriptHeader(TranscriptSession(**session), list(dict.fromkeys(hints)), certain)


def _lines(head: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(head):
        end = head.find(b"\n", at)
        end = len(head) if end < 0 else end
        yield head[at:end]
        at = end + 1


def _note(session: dict[str, str], key: str, value: Any) -> None:
    if isinstance(value, str) and value and key not in session:
        session[key] = pictured(value[:400])


def _strings(value: Any) -> list[str]:
    return _paths(value) if isinstance(value, str) else []


def _paths(text: str) -> list[str]:
    return [*(found.strip() for found in _CWD.findall(text)), *_AGENTS.findall(text)]


def is_below(hints: Iterable[str], prefix: str) -> bool:
    """Whether a session belongs to the project; compares whole path components."""
    wanted = prefix.rstrip("/")
    return any(hint == wanted or hint.startswith(f"{wanted}/") for hint in hints)


def project_of(header: TranscriptHeader) -> Project:
    """The project of a session, as far as it is known."""
    where = header.hints[0] if header.hints else ""
    return Project(
        id=f"proj-{hashlib.sha256(where.encode()).hexdigest()[:12]}",
        name=pictured(PurePath(where).name) or "unknown",
        confidence="high" if header.certain else "medium" if header.hints else "low",
    )
