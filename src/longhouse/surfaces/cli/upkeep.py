"""Shared by the maintenance commands, which open the store directly, server or not.

Reading and writing next to a running server are both safe: the database serializes them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from longhouse.kernel.clock import RandomIds, SystemClock
from longhouse.kernel.errors import Conflict, InvalidInput
from longhouse.kernel.terminal import tame
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Flag

if TYPE_CHECKING:
    from longhouse.house import House
    from longhouse.kernel.contributions import HeldBack
    from longhouse.kernel.values import Value
    from longhouse.store.artifacts import Artifacts
    from longhouse.store.tx import Call

__all__ = [
    "MAX_OUTPUT",
    "RUN_QUEUED",
    "artifacts_of",
    "held_lines",
    "mebibytes",
    "new_file",
    "now",
    "opened",
    "own_key",
    "readable",
    "size_of",
    "told",
]

RUN_QUEUED = Flag("run-queued", "hold nothing: queued work runs, and rules stay in force")
MAX_OUTPUT = Flag(
    "max-output",
    "leave out the output of processes that printed more, unless it is cited as proof",
    "MIB",
    kind=int,
)
_SHOWN = 20

_CHUNK = 1 << 20


@contextmanager
def opened(cli: Cli, *, any_project: bool = False) -> Iterator[House]:
    """The store, opened in this process; commands that only read it may do so from any project."""
    from longhouse.house import House

    cli.need_a_store()
    settings = cli.settings._replace(project_guard=None) if any_project else cli.settings
    with House(settings) as house:
        yield house


def artifacts_of(house: House) -> Artifacts:
    """The artifact store of an opened house."""
    from longhouse.store.artifacts import artifacts_of

    return artifacts_of(house)


def now(cli: Cli, house: House | None = None) -> Call:
    from longhouse.store.tx import Call

    return Call(
        now_ms=SystemClock().now_ms(),
        ids=RandomIds(),
        actor=cli.settings.agent_id,
        facts=house.facts if house else None,
    )


@contextmanager
def new_file(name: str) -> Iterator[BinaryIO]:
    """A private file that appears only once complete, or stdout for `-`."""
    if name == "-":
        if sys.stdout.isatty():
            raise InvalidInput(
                "raw bytes could control the terminal, so they are not written to it",
                recovery="name a file, or pipe the output into a program",
            )
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(name)
    if path.exists():
        raise Conflict(f"{path} already exists", recovery="name another file, or remove it first")
    partial = path.with_name(path.name + ".partial")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(partial, flags, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise InvalidInput(f"{path} cannot be written: {error.strerror}") from error
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


@contextmanager
def readable(name: str) -> Iterator[BinaryIO]:
    """A seekable file: the named one, or stdin spooled to disk for `-`."""
    if name != "-":
        try:
            with Path(name).open("rb") as file:
                yield file
        except OSError as error:
            raise InvalidInput(f"{name} cannot be read: {error.strerror}") from error
        return
    from tempfile import TemporaryFile

    with TemporaryFile() as spooled:
        while chunk := sys.stdin.buffer.read(_CHUNK):
            spooled.write(chunk)
        spooled.seek(0)
        yield spooled


def mebibytes(count: int | None) -> int | None:
    return None if count is None else max(0, count) << 20


def own_key() -> bytes:
    """This machine's secret that seals its backups, in the user's configuration folder."""
    from longhouse.config import user_file

    config = user_file()
    if config is None:
        return b""
    path = config.with_name("backup.key")
    try:
        config.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.write(os.urandom(32))
    except FileExistsError:
        pass
    except OSError:
        return b""
    found = path.stat()
    private = found.st_uid == os.geteuid() and not found.st_mode & 0o077
    return path.read_bytes() if private and not path.is_symlink() else b""


def told(made: Value) -> dict[str, Any]:
    """The result for `--json`; what was held becomes a list of objects."""
    import msgspec

    result: dict[str, Any] = msgspec.to_builtins(made)
    result["held"] = [dict(zip(("what", "id", "title"), one, strict=True)) for one in made.held]  # type: ignore[attr-defined]
    return result


def held_lines(held: Sequence[HeldBack], other: str = "") -> Iterator[str]:
    """What was held, withdrawn or voided, and how to release it."""
    for what, ids in _by_kind(held).items():
        named = ", ".join(ids[:_SHOWN]) + (f" and {len(ids) - _SHOWN} more" if ids[_SHOWN:] else "")
        yield f"{_OUTCOME[what]}: {named}"
    if any(one.what in ("job", "process") for one in held):
        yield f"look at them, then release them: longhouse release --all{other}"


_OUTCOME = {
    "job": "jobs held",
    "process": "processes held",
    "rule": "rules withdrawn",
    "wake-up": "wake-up rules withdrawn",
    "identity": "identities without a token",
    "token": "tokens revoked",
}


def _by_kind(held: Sequence[HeldBack]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in held:
        title = f" ({tame(one.title)[:60]})" if one.title else ""
        found.setdefault(one.what, []).append(f"{one.id}{title}")
    return found


def size_of(count: int) -> str:
    """A byte count for people: `12.3 MiB`."""
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
