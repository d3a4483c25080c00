"""`think.context.pack.export`: a pack as a file in the project, for tools that only read files.

The file must be inside the project: not behind a symbolic link that leads out, not in `.git`, not
in the store's folder. It is written completely or not at all and replaces only an earlier pack,
because an agent that may write cards may not overwrite the project's files.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

import msgspec

from longhouse.kernel.budget import Budget, fit
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.redact import redact
from longhouse.store.projects import require_home
from longhouse.store.tx import Tx
from longhouse.thinking.context_pack import PACK_TRIM, context_pack
from longhouse.thinking.facts import ThinkingFacts
from longhouse.thinking.room import room
from longhouse.thinking.types.reads import ExportContextPack, Exported

__all__ = ["export_context_pack"]

CAPSULE = "context_pack_capsule"
LARGEST_PACK = 16 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
EXAMPLE = ".agents/mcp/context/.context/longhouse/context_pack.json"


@room.command(
    "think.context.pack.export",
    writes=True,
    additive=True,
    idempotent=True,
    example=ExportContextPack(out_file=EXAMPLE),
)
def export_context_pack(tx: Tx, req: ExportContextPack) -> Exported:
    """Write a pack to a file inside the project."""
    require_home(tx, "an export")
    facts = tx.facts.of(ThinkingFacts)
    path = _inside(facts.project_root, facts.store, req.out_file)
    pack = redact(msgspec.to_builtins(context_pack(tx, req)))
    most = min(req.max_chars, req.context_budget or req.max_chars)
    rederive, tx.rederive = tx.rederive, None  # it concerns the file, not the answer
    fitted = fit(pack, Budget(max_chars=most, explicit=True), PACK_TRIM, rederive=rederive)
    data = msgspec.json.format(msgspec.json.encode(fitted.result), indent=2) + b"\n"
    root = facts.project_root.resolve()
    try:
        _write(root, path, data)
    except OSError as error:
        raise InvalidInput(
            f"out_file: {req.out_file[:120]} cannot be written: {error.strerror}",
            recovery=f"choose another file, such as {EXAMPLE}",
        ) from None
    return Exported(
        out_file=str(path.relative_to(root)),
        bytes=len(data),
        truncated=bool(fitted.result["truncated"]),
    )


def _inside(root: Path, store: Path, name: str) -> Path:
    """The path that a name resolves to, or InvalidInput if it is not allowed."""
    root = root.resolve()
    try:
        path = (root / name).resolve()
    except (OSError, RuntimeError, ValueError):
        raise _refused(name, "is not a path") from None
    if not path.is_relative_to(root) or path == root:
        raise _refused(name, "is outside the project")
    if ".git" in (part.lower() for part in path.relative_to(root).parts):
        raise _refused(name, "is in git's own folder")
    if path.is_relative_to(store.resolve()):
        raise _refused(name, "is in the store's own folder")
    if path.suffix != ".json":
        raise _refused(name, "does not end in .json")
    return path


def _refused(name: str, why: str) -> InvalidInput:
    return InvalidInput(
        f"out_file: {name[:120]!r} {why}; fix: out_file={EXAMPLE}",
        recovery="name a file inside the project",
    )


def _write(root: Path, path: Path, data: bytes) -> None:
    """Write the file, replacing nothing but an earlier pack.

    Every folder is opened relative to its parent and never through a symbolic link, so swapping a
    folder during the write gains an attacker nothing.
    """
    *folders, name = path.relative_to(root).parts
    at = os.open(root, _FOLDER)
    try:
        for folder in folders:
            with suppress(FileExistsError):
                os.mkdir(folder, dir_fd=at)
            below = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        if not _may_replace(at, name):
            raise _refused(str(path.relative_to(root)), "exists and is not a pack")
        _put(at, name, data)
    finally:
        os.close(at)


def _may_replace(at: int, name: str) -> bool:
    """Whether the file does not exist or was written by this command."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # never block on a pipe
    try:
        handle = os.open(name, flags, dir_fd=at)
    except FileNotFoundError:
        return True
    with os.fdopen(handle, "rb") as file:
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return False
            found = msgspec.json.decode(file.read(LARGEST_PACK))
            return bool(found["capsule"]["type"] == CAPSULE)
        except (OSError, msgspec.DecodeError, LookupError, TypeError, RecursionError):
            return False


def _put(at: int, name: str, data: bytes) -> None:
    """Write the file atomically."""
    draft = f".pack-{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(draft, flags, 0o644, dir_fd=at)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(draft, name, src_dir_fd=at, dst_dir_fd=at)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=at)
        raise
