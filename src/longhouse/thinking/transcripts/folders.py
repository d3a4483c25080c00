"""The transcript folders, the files in them, and opening one without leaving its folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from longhouse.kernel.errors import InvalidInput, UnknownId
from longhouse.store.tx import Tx
from longhouse.thinking.facts import ThinkingFacts

__all__ = ["File", "TranscriptRoot", "files_of", "open_file", "root_of"]

_MOST_SEEN = 200_000
_DEEP = 16
_NAMES = ("codex", "claude")


class TranscriptRoot(NamedTuple):
    """The folder that a call reads, and all allowed folders."""

    path: Path
    known: list[str]


class File(NamedTuple):
    """A transcript by its path inside the root."""

    name: str
    size: int
    mtime_ns: int


def root_of(tx: Tx, asked: str | None) -> TranscriptRoot:
    """The folder to read: the requested one if it is allowed, else the first that exists."""
    known = tx.facts.of(ThinkingFacts).transcripts
    shown = [str(path) for path in known]
    if asked is None:
        found = next((path for path in known if path.is_dir()), None)
        if found is None:
            raise UnknownId(
                "root_dir: there are no transcripts on this machine",
                recovery=f"searched {', '.join(shown)}; LONGHOUSE_TRANSCRIPTS adds folders",
            )
        return TranscriptRoot(found, shown)
    if asked in _NAMES:
        chosen = known[_NAMES.index(asked)]
    else:
        chosen = Path(asked)
        if not _is_allowed(chosen, known):
            raise InvalidInput(
                f"root_dir: {asked[:200]!r} is not one of the transcript folders; "
                "fix: root_dir=codex",
                recovery=f"use one of {', '.join(shown)}, or a folder inside one",
            )
    if not chosen.is_dir():
        raise UnknownId(
            f"root_dir: there is no folder {str(chosen)[:200]}",
            recovery=f"use one of {', '.join(shown)}",
        )
    return TranscriptRoot(chosen, shown)


def _is_allowed(chosen: Path, known: Sequence[Path]) -> bool:
    try:
        real = chosen.resolve()
        return chosen.is_absolute() and any(real.is_relative_to(root.resolve()) for root in known)
    except (OSError, RuntimeError, ValueError):
        return False


def files_of(root: TranscriptRoot) -> list[File]:
    """The transcripts below a folder, newest first; symbolic links are not followed."""
    found = list(_walk(os.fspath(root.path), "", 0))[:_MOST_SEEN]
    return sorted(found, key=lambda file: (-file.mtime_ns, file.name))


def _walk(folder: str, prefix: str, depth: int) -> Iterator[File]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        with suppress(OSError):
            if entry.is_dir(follow_symlinks=False):
                if depth < _DEEP:
                    yield from _walk(entry.path, f"{prefix}{entry.name}/", depth + 1)
            elif entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False):
                seen = entry.stat(follow_symlinks=False)
                yield File(f"{prefix}{entry.name}", seen.st_size, seen.st_mtime_ns)


@contextmanager
def open_file(root: TranscriptRoot, name: str) -> Iterator[tuple[BinaryIO, int]]:
    """A transcript and its current size, opened so that no symbolic link can lead outside."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts or name.startswith("/") or ".." in parts:
        raise _outside(name)
    if not name.endswith(".jsonl"):
        raise _outside(name, "is not a transcript: only .jsonl files are read")
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    at = os.open(root.path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            below = os.open(part, flags | os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = below
        handle = os.open(parts[-1], flags | os.O_NONBLOCK, dir_fd=at)
    except FileNotFoundError:
        raise UnknownId(
            f"ref.path: there is no {name[:200]}",
            recovery="copy a ref from docs.transcripts.search",
        ) from None
    except (OSError, ValueError):
        raise _outside(name, "is outside the folder, or cannot be read") from None
    finally:
        os.close(at)
    with os.fdopen(handle, "rb", buffering=0) as file:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode):
            raise _outside(name, "is not a regular file")
        yield file, seen.st_size


def _outside(name: str, why: str = "is outside the folder") -> InvalidInput:
    return InvalidInput(
        f"ref.path: {name[:200]!r} {why}",
        recovery="copy a ref from docs.transcripts.search; paths are relative to root_dir",
    )
