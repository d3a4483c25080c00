"""`think.context.pack.export`: a pack as a file of the project, for tools that only read files.

The file lies inside the project and nowhere else: not behind a link that leads out, not in `.git`,
not in the store's own folder. It appears whole or not at all, and takes the place of nothing but an
earlier pack: an agent that may write cards may not write over the project's files.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import msgspec

from longhouse.kernel.budget import Budget, fit
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.redact import redact
from longhouse.store.tx import Tx
from longhouse.thinking.context_pack import PACK_TRIM, context_pack
from longhouse.thinking.facts import ThinkingFacts
from longhouse.thinking.room import room
from longhouse.thinking.types.reads import ExportContextPack, Exported

__all__ = ["export_context_pack"]

CAPSULE = "context_pack_capsule"
LARGEST_PACK = 16 << 20
EXAMPLE = ".agents/mcp/context/.context/longhouse/context_pack.json"


@room.command(
    "think.context.pack.export",
    writes=True,
    idempotent=True,
    example=ExportContextPack(out_file=EXAMPLE),
)
def export_context_pack(tx: Tx, req: ExportContextPack) -> Exported:
    """Write a pack to a file inside the project."""
    facts = tx.facts.of(ThinkingFacts)
    path = _inside(facts.project_root, facts.store, req.out_file)
    pack = redact(msgspec.to_builtins(context_pack(tx, req)))
    most = min(req.max_chars, req.context_budget or req.max_chars)
    fitted = fit(pack, Budget(max_chars=most, explicit=True), PACK_TRIM)
    data = msgspec.json.format(msgspec.json.encode(fitted.result), indent=2) + b"\n"
    try:
        _write(path, data)
    except OSError as error:
        raise InvalidInput(
            f"out_file: {req.out_file[:120]} cannot be written: {error.strerror}",
            recovery=f"choose another file, such as {EXAMPLE}",
        ) from None
    return Exported(
        out_file=str(path.relative_to(facts.project_root.resolve())),
        bytes=len(data),
        truncated=bool(fitted.result["truncated"]),
    )


def _inside(root: Path, store: Path, name: str) -> Path:
    """The place that a name means, links followed, or a refusal of one that is not ours."""
    root = root.resolve()
    try:
        path = (root / name).resolve()
    except (OSError, RuntimeError, ValueError):
        raise _refused(name, "is no path") from None
    if not path.is_relative_to(root) or path == root:
        raise _refused(name, "lies outside the project")
    if ".git" in (part.lower() for part in path.relative_to(root).parts):
        raise _refused(name, "lies in git's own folder")
    if path.is_relative_to(store.resolve()):
        raise _refused(name, "lies in the store's own folder")
    if path.suffix != ".json":
        raise _refused(name, "does not end in .json")
    try:
        is_there = path.exists()
    except OSError as error:  # too long, or below a file
        raise _refused(name, f"cannot be written: {error.strerror}") from None
    if is_there and not _is_pack(path):
        raise _refused(name, "is there and is no pack; nothing else is written over")
    return path


def _is_pack(path: Path) -> bool:
    """Whether a file holds what this command wrote there before."""
    try:
        with path.open("rb") as file:
            found = msgspec.json.decode(file.read(LARGEST_PACK))
        return bool(found["capsule"]["type"] == CAPSULE)
    except (OSError, msgspec.DecodeError, LookupError, TypeError, RecursionError):
        return False


def _refused(name: str, why: str) -> InvalidInput:
    return InvalidInput(
        f"out_file: {name[:120]!r} {why}; fix: out_file={EXAMPLE}",
        recovery="name a file inside the project",
    )


def _write(path: Path, data: bytes) -> None:
    """Put a whole file in place of whatever was there, without following a link."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(draft).chmod(0o644)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
