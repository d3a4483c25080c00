"""`longhouse artifact`: files and logs that a store keeps."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import ago, many, table
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown
from longhouse.surfaces.cli.upkeep import artifacts_of, new_file, now, opened, readable, size_of

if TYPE_CHECKING:
    from longhouse.store.artifacts.types import Artifact
    from longhouse.store.artifacts.view import ArtifactView
    from longhouse.store.tx import Tx

_CHUNK = 1 << 20
_ID = Arg("id", "artifact:<digest>, the first digits of a digest, or ART-001")


def show_list(cli: Cli, result: dict[str, Any]) -> Iterable[str]:
    rows = [
        {**row, "size": size_of(row["size"]), "created": ago(row["created_at_ms"])}
        for row in result["artifacts"]
    ]
    used, quota = result["usage"]["used_bytes"], result["usage"]["quota_bytes"]
    columns = ("handle", "ref", "state", "size", "created", "name")
    yield from table(rows, columns) if rows else ["no artifacts yet"]
    yield f"{size_of(used)} of {size_of(quota)} used"


def show_content(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    text = "".join(part["text"] for part in result["parts"])
    yield text.removesuffix("\n")
    if skipped := result.get("skipped_bytes"):
        yield cli.out.style(f"({skipped} bytes before this exceeded the log's size limit)", "dim")
    if result["has_more"] and cli.out.for_people:
        yield cli.out.style(f"more: --offset-bytes {result['next_cursor']}", "dim")


def add(cli: Cli, file: str, name: str | None = None, expires_in_s: int | None = None) -> Shown:
    media_type = mimetypes.guess_type(name or file)[0] or "application/octet-stream"
    with opened(cli) as house, readable(file) as source:
        call = now(cli, house)
        left = house.db.read(cli.settings.workspace, artifacts_of(house).left, call)
        chunks = iter(lambda: source.read(_CHUNK), b"")
        blob = artifacts_of(house).stage(chunks, now_ms=house.db.time(call), most=left)
        artifact, created = house.db.write(
            cli.settings.workspace,
            lambda tx: artifacts_of(house).record(
                tx,
                blob,
                name=name or Path(file).name,
                media_type=media_type,
                expires_at_ms=tx.now_ms + expires_in_s * 1000 if expires_in_s else None,
            ),
            call,
        )
    known = "" if created else " (already stored)"
    text = f"{artifact.ref}  {size_of(artifact.size)}{known}"
    return Shown({"artifact": msgspec.to_builtins(artifact), "created": created}, [text])


def get(cli: Cli, id: str, output: str = "-") -> Shown | int:
    from longhouse.store.artifacts.raw import refuse_bytes

    with opened(cli) as house:
        call = now(cli, house)

        def find(tx: Tx) -> tuple[Artifact, ArtifactView]:
            found = artifacts_of(house).find(tx, id)
            view = artifacts_of(house).view(found, tx.ws)
            refuse_bytes(tx, found, view)
            return found, view

        artifact, view = house.db.read(cli.settings.workspace, find, call)
        with new_file(output) as target:
            offset = written = 0
            while offset < view.size:
                piece = view.read(offset, _CHUNK)
                target.write(piece.data)
                offset, written = piece.next_offset, written + len(piece.data)
    if output == "-":
        return 0
    text = f"{output}: {size_of(written)} of {artifact.ref}"
    return Shown({"artifact": msgspec.to_builtins(artifact), "bytes": written}, [text])


def clean(cli: Cli) -> Shown:
    from longhouse.store.artifacts.sweep import sweep

    with opened(cli) as house:
        done = sweep(house.db, artifacts_of(house), house.registry.holders, now(cli, house))
    text = f"{done.rows} expired, {size_of(done.bytes)} in {done.blobs} files freed"
    return Shown(done._asdict(), [text])


def move(cli: Cli, folder: str | None = None, remove: bool = False) -> Shown:
    from longhouse.store.artifacts.moving import move_in

    path = Path(folder).expanduser() if folder else cli.settings.dir / "artifacts"
    with opened(cli) as house:
        done = move_in(house.db, path.absolute(), now(cli, house), remove=remove)
    text = [
        f"{many(done.moved, 'artifact')} ({size_of(done.bytes)}) moved into the database, "
        f"{done.already} already there, {many(done.logs, 'growing log')}"
    ]
    if done.unused:
        text.append(f"{many(done.unused, 'file')} of no artifact left in {path}")
    text += [f"damaged in the folder, not moved: artifact:{d[:12]}" for d in done.damaged]
    if done.removed:
        text.append(f"{many(done.removed, 'file')} removed from {path}")
    return Shown(msgspec.to_builtins(done), text, ok=not done.damaged)


command = Command(
    "artifact",
    "List, read, add and clean up stored files and logs",
    children=[
        Command(
            "list",
            "List artifacts, newest first",
            flags=[
                Flag("owner", "only artifacts of this owner, such as JOB-001", "REF"),
                Flag("limit", "how many (default: 20)", "N", kind=int),
                Flag("cursor", "continue from here", "SEQ", kind=int),
            ],
            calls="docs.artifact.list",
            show=show_list,
        ),
        Command(
            "show",
            "Show an artifact as text: a range of bytes or lines, or its end",
            args=[_ID],
            flags=[
                Flag("offset-bytes", "start at this byte", "N", kind=int),
                Flag("line", "start at this line", "N", kind=int),
                Flag("lines", "how many lines (default: 200)", "N", kind=int),
                Flag("tail-lines", "show the last N lines", "N", kind=int),
            ],
            calls="docs.artifact.show",
            show=show_content,
            examples=["longhouse artifact show ART-001 --tail-lines 20"],
        ),
        Command(
            "get",
            "Write an artifact's bytes unchanged",
            args=[_ID],
            flags=[Flag("output", "write to this new file (default: stdout)", "FILE", short="o")],
            run=get,
            details="Nothing is masked, so the output may contain secrets. A file that contains a "
            "Longhouse token is refused until that token is revoked.",
        ),
        Command(
            "add",
            "Store a file",
            args=[Arg("file", "the file; - for stdin")],
            flags=[
                Flag("name", "its name (default: the file's)", "NAME"),
                Flag("expires-in-s", "let it expire after this many seconds", "N", kind=int),
            ],
            run=add,
        ),
        Command(
            "move-in",
            "Move the artifacts of a folder into the PostgreSQL database",
            args=[Arg("folder", "the folder (default: artifacts in the store's)", required=False)],
            flags=[Flag("remove", "remove each file once its bytes are in the database")],
            run=move,
            details="Every file is checked against its digest. The store may be in use, and the "
            "command may be interrupted and run again. On hosts that each had a folder of their "
            "own, run it on each.",
            examples=["longhouse artifact move-in /mnt/longhouse/artifacts --remove"],
        ),
        Command(
            "sweep",
            "Remove expired artifacts and unreferenced files",
            run=clean,
            details="Servers do this automatically. A file is deleted once nothing has referred to "
            "it for an hour.",
        ),
    ],
)
