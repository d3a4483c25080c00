"""A workspace as one file, and back: between stores, between engines, or not at all."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from longhouse.house import House
from longhouse.kernel.errors import (
    Conflict,
    LonghouseError,
    StoreBusy,
    StoreUnusable,
    UnknownWorkspace,
)
from longhouse.store.artifacts import artifacts_of
from longhouse.store.queries import Query
from longhouse.store.tx import Call, Tx
from longhouse.store.upkeep import ArchiveInvalid, export_workspace, verify
from longhouse.store.upkeep.archive import ArchiveReader, ArchiveWriter
from longhouse.store.upkeep.repair import repair
from longhouse.store.upkeep.tables import SHARED, all_tables, workspace_tables
from tests.kit import Lh
from tests.store.upkeep_kit import call_of, exported, fill, grow, imported, other_house


def is_sound(house: House) -> None:
    found = verify(house.db, artifacts_of(house), house.registry, call_of(house), full=True)
    assert found.problems == []


def rewritten(data: bytes, change: Callable[[str, bytes], tuple[str, bytes] | None]) -> bytes:
    """The archive with changed members and a matching manifest, as by a clever forger."""
    reader, out = ArchiveReader(io.BytesIO(data)), io.BytesIO()
    rows: dict[str, int] = {}
    blobs = 0
    writer = ArchiveWriter(out)
    while member := reader.next():
        if (kept := change(member.name, reader.whole())) is None:
            continue
        name, content = kept
        writer.add(name, len(content), [content])
        blobs += name.startswith("artifacts/")
        if name.startswith("tables/"):
            table = name.split("/")[1].split(".")[0]
            rows[table] = rows.get(table, 0) + content.count(b"\n")
    listed = dict.fromkeys(reader.manifest().rows, 0) | rows
    writer.close(artifacts=blobs, rows=listed)
    return out.getvalue()


def test_a_workspace_comes_back_under_another_name_beside_the_first(lh: Lh) -> None:
    fill(lh, "other")
    fill(lh)
    before = lh("docs.show", doc_kind="notes")
    result = imported(lh.house, exported(lh.house), name="copy")
    assert (result.workspace, result.exported_as) == ("copy", "acme")
    assert lh("docs.show", doc_kind="notes", workspace="copy") == before
    assert lh("open", id="JOB-001", workspace="copy") == lh("open", id="JOB-001")
    shown = lh("docs.artifact.show", id="ART-001", workspace="copy")
    assert shown["parts"][0]["text"].startswith("artifact 0\n")
    is_sound(lh.house)


def test_the_copy_is_searched_like_the_first(lh: Lh) -> None:
    fill(lh)
    lh("vcs.notes.commit", content="a zebra among the notes")
    lh("graph.apply", ops=[{"op": "node_upsert", "id": "H-1", "type": "note", "title": "a zebra"}])
    before = lh("docs.search", text="zebra")
    imported(lh.house, exported(lh.house), name="copy")
    assert len(before["hits"]) == 2
    assert lh("docs.search", text="zebra", workspace="copy") == before


def test_the_copy_goes_on_where_the_first_stood(lh: Lh) -> None:
    fill(lh)
    imported(lh.house, exported(lh.house), name="copy")
    refs = {
        lh("vcs.notes.commit", content="next", workspace=name)["ref"] for name in ("acme", "copy")
    }
    jobs = {
        lh("jobs.create", title="N", prompt="P", workspace=name)["job"]["id"]
        for name in ("acme", "copy")
    }
    assert len(refs) == len(jobs) == 1
    is_sound(lh.house)


def test_the_same_state_gives_the_same_bytes_also_after_a_round_trip(
    lh: Lh, tmp_path: Path
) -> None:
    fill(lh, "other")
    fill(lh)
    first = exported(lh.house)
    assert exported(lh.house) == first
    with other_house(tmp_path / "b") as house:
        fill(Lh(house, lh.clock), "third")
        imported(house, first)
        assert exported(house) == first
        is_sound(house)
    imported(lh.house, first, name="copy")
    assert exported(lh.house, "copy")[2048:-4096] == first[2048:-4096]


def test_a_log_that_grows_is_exported_as_if_it_had_ended_then(lh: Lh) -> None:
    begun = grow(lh, "acme", b"a log row\n" * 30_000, cap=1000)
    imported(lh.house, exported(lh.house), name="copy")
    shown = lh("docs.artifact.show", id=begun.handle, workspace="copy", offset_bytes=299_990)
    assert (shown["parts"][0]["text"], shown["artifact"]["state"]) == ("a log row\n", "sealed")
    assert lh("docs.artifact.show", id=begun.handle)["artifact"]["state"] == "growing"


def test_an_export_says_how_much_it_wrote(lh: Lh) -> None:
    fill(lh)
    out = io.BytesIO()
    told = export_workspace(lh.house.db, artifacts_of(lh.house), "acme", out, call_of(lh.house))
    data = out.getvalue()
    assert told.bytes == len(data)
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        names = tar.getnames()
    assert told.artifacts == sum(name.startswith("artifacts/") for name in names) > 0


def test_the_file_is_a_plain_tar(lh: Lh) -> None:
    fill(lh)
    with tarfile.open(fileobj=io.BytesIO(exported(lh.house))) as tar:
        names = tar.getnames()
    assert (names[0], names[-1]) == ("longhouse.json", "manifest.json")
    assert "tables/log.000000.jsonl" in names


def test_an_existing_workspace_is_refused_and_left_alone(lh: Lh) -> None:
    fill(lh)
    data = exported(lh.house)
    with pytest.raises(Conflict, match="exists"):
        imported(lh.house, data)
    assert exported(lh.house) == data
    with pytest.raises(UnknownWorkspace):
        exported(lh.house, "nobody")


def test_a_file_cut_anywhere_imports_nothing(lh: Lh) -> None:
    lh("vcs.notes.commit", content="x")
    lh("docs.artifact.add", name="a", content="y")
    data = exported(lh.house)
    for length in (0, 1, 511, 512, 700, len(data) // 2, len(data) - 1024, len(data) - 1):
        with pytest.raises(ArchiveInvalid):
            imported(lh.house, data[:length], name="copy")
    assert lh("docs.show", doc_kind="notes", workspace="copy")["entries"] == []
    imported(lh.house, data, name="copy")


def test_a_changed_byte_anywhere_imports_nothing(lh: Lh) -> None:
    lh("vcs.notes.commit", content="x" * 600)
    lh("docs.artifact.add", name="a", content="y" * 600)
    data = exported(lh.house)
    for at in range(0, len(data), 97):
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        with pytest.raises(LonghouseError) as refused:
            imported(lh.house, changed, name="copy")
        assert refused.value.code in ("ARCHIVE_INVALID", "STORE_UNUSABLE", "INVALID_NAME")
    assert lh.house.db.read("copy", lambda tx: tx.last_seq(), call_of(lh.house)) == 0
    with pytest.raises(ArchiveInvalid, match="more data after the manifest"):
        imported(lh.house, data + b"\0", name="copy")


@pytest.mark.parametrize(
    "member",
    [
        {"name": "../../etc/passwd"},
        {"name": "/etc/passwd"},
        {"name": "artifacts/../../x"},
        {"name": "tables/log.000000.jsonl", "type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
        {"name": "tables/log.000000.jsonl", "type": tarfile.LNKTYPE, "linkname": "/etc/passwd"},
        {"name": "tables/log.000000.jsonl", "type": tarfile.CHRTYPE},
        {"name": "tables/log.000000.jsonl", "type": tarfile.DIRTYPE},
        {"name": "tables/" + "x" * 200 + ".000000.jsonl"},
    ],
)
def test_a_member_that_would_escape_is_refused(lh: Lh, member: dict[str, str]) -> None:
    lh("vcs.notes.commit", content="x")
    header = exported(lh.house)[: 512 * 4]
    with pytest.raises(ArchiveInvalid):
        imported(lh.house, header[:1024] + _tar(member), name="copy")
    with pytest.raises(ArchiveInvalid):
        imported(lh.house, _tar(member), name="copy")


def _tar(member: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        info = tarfile.TarInfo(member["name"])
        info.type = member.get("type", tarfile.REGTYPE)  # type: ignore[assignment]
        info.linkname = member.get("linkname", "")
        tar.addfile(info)
    return out.getvalue()


def test_a_member_that_claims_a_giant_size_is_refused_before_it_is_read(lh: Lh) -> None:
    from longhouse.store.upkeep import archive

    data = archive._header("longhouse.json", 1 << 40) + b"{}"
    with pytest.raises(ArchiveInvalid, match="more than a member can have"):
        imported(lh.house, data)


@pytest.mark.parametrize(
    "what",
    [
        "gap in the log",
        "row of another table",
        "foreign key",
        "missing bytes",
        "wrong type",
        "row too short",
        "unknown table",
        "row id",
        "not JSON",
        "artifact bytes",
    ],
)
def test_an_archive_forged_with_an_honest_manifest_imports_nothing(lh: Lh, what: str) -> None:
    fill(lh)
    made = rewritten(exported(lh.house), _FORGERIES[what])
    with pytest.raises(ArchiveInvalid):
        imported(lh.house, made, name="copy")
    assert lh.house.db.read("copy", lambda tx: tx.last_seq(), call_of(lh.house)) == 0
    tables = lh.house.db.read("copy", workspace_tables, call_of(lh.house))
    assert all(lh.house.db.read("copy", table.is_empty, call_of(lh.house)) for table in tables)
    is_sound(lh.house)


Forgery = Callable[[str, bytes], tuple[str, bytes] | None]


def _line_of(table: str, change: Callable[[bytes], bytes] | bytes) -> Forgery:
    """Change the first row of a table."""

    def forge(name: str, content: bytes) -> tuple[str, bytes]:
        if not name.startswith(f"tables/{table}."):
            return name, content
        first, rest = content.split(b"\n", 1)
        return name, (change if isinstance(change, bytes) else change(first + b"\n")) + rest

    return forge


def _without_blobs(name: str, content: bytes) -> tuple[str, bytes] | None:
    return None if name.startswith("artifacts/") else (name, content)


def _other_blobs(name: str, content: bytes) -> tuple[str, bytes]:
    return (name, b"evil" + content) if name.startswith("artifacts/") else (name, content)


def _renamed(name: str, content: bytes) -> tuple[str, bytes]:
    return name.replace("tables/jobs.", "tables/tokens."), content


def _as_text(line: bytes) -> bytes:
    first, rest = line.removeprefix(b"[").split(b",", 1)
    return b'["x' + first.strip(b'"') + b'",' + rest


_FORGERIES: dict[str, Forgery] = {
    "gap in the log": _line_of("log", b""),
    "row of another table": _line_of("documents", b'["x","y"]\n'),
    "foreign key": _line_of("documents", b'[1,99,"notes"]\n'),
    "missing bytes": _without_blobs,
    "wrong type": _line_of("log", _as_text),
    "row too short": _line_of("log", b"[1]\n"),
    "unknown table": _renamed,
    "row id": _line_of("branches", lambda line: line.replace(b"[1,", b"[-1,", 1)),
    "not JSON": _line_of("log", b"{]\n"),
    "artifact bytes": _other_blobs,
}


def test_an_export_of_a_newer_longhouse_is_refused_by_name(lh: Lh) -> None:
    fill(lh)

    def newer(name: str, content: bytes) -> tuple[str, bytes]:
        if name == "longhouse.json":
            content = content.replace(b'"schema":', b'"schema":9', 1)
        return name, content

    with pytest.raises(StoreUnusable, match="this Longhouse knows up to"):
        imported(lh.house, rewritten(exported(lh.house), newer), name="copy")


def test_a_damaged_artifact_stops_the_export(folder_lh: Lh) -> None:
    lh = folder_lh
    added = lh("docs.artifact.add", name="a", content="y" * 600)["artifact"]
    path = artifacts_of(lh.house).path / "blobs" / added["digest"][:2] / added["digest"]
    path.write_bytes(b"short")
    with pytest.raises(LonghouseError):
        export_workspace(
            lh.house.db, artifacts_of(lh.house), "acme", io.BytesIO(), call_of(lh.house)
        )


def test_every_table_is_exported_or_named_as_the_whole_stores(lh: Lh) -> None:
    tables = lh.house.db.read("", all_tables, call_of(lh.house))
    covered = {t.name for t in lh.house.db.read("", workspace_tables, call_of(lh.house))}
    assert {t.name for t in tables} - covered == SHARED & {t.name for t in tables}, (
        "a table has no ws column: give it one, or name it in SHARED if no export should have it"
    )


def test_every_workspace_table_is_keyed_by_workspace_or_by_one_integer(lh: Lh) -> None:
    for table in lh.house.db.read("", workspace_tables, call_of(lh.house)):
        assert "ws" in table.key or table.surrogate, f"{table.name}: its rows cannot be moved"


def test_every_reference_to_a_row_id_is_declared(lh: Lh) -> None:
    """An id that is not a foreign key would not be shifted along with the row it refers to."""
    tables = lh.house.db.read("", workspace_tables, call_of(lh.house))
    ids = {t.surrogate: t.name for t in tables if t.surrogate}
    for table in tables:
        known = {column for column, _, _ in table.parents} | {table.surrogate}
        assert not (set(table.columns) & ids.keys()) - known, table.name


def test_a_table_that_a_room_adds_later_is_exported_without_work(lh: Lh, engine: str) -> None:
    """Tables are read from the schema, so a future room's table is included."""
    if engine != "sqlite":
        return
    import apsw

    lh("vcs.notes.commit", content="x")
    db = apsw.Connection(str(lh.house.settings.db))
    db.execute(
        "CREATE TABLE later (ws INTEGER NOT NULL REFERENCES workspaces (ws), name TEXT NOT NULL,"
        " data BLOB, weight REAL, PRIMARY KEY (ws, name)) STRICT;"
        " INSERT INTO later SELECT ws, 'n', x'00ff', 0.5 FROM workspaces;"
    )
    imported(lh.house, exported(lh.house), name="copy")
    assert (
        db.execute("SELECT name, data, weight FROM later").fetchall() == [("n", b"\0\xff", 0.5)] * 2
    )
    db.close()


def test_a_flipped_byte_ends_the_export_by_name_or_is_left_out(folder_lh: Lh) -> None:
    lh = folder_lh
    fill(lh)
    added = lh("docs.artifact.add", name="flipped", content="y" * 600)["artifact"]
    path = artifacts_of(lh.house).path / "blobs" / added["digest"][:2] / added["digest"]
    path.write_bytes(b"y" * 300 + b"x" + b"y" * 299)
    with pytest.raises(LonghouseError, match=added["digest"][:12]):
        exported(lh.house)
    made = imported(lh.house, exported(lh.house, without_damaged=True), name="copy")
    assert made.damaged == [f"{added['handle']} flipped"]
    assert (
        lh.refused("docs.artifact.show", id=added["id"], workspace="copy")["code"] == "UNKNOWN_ID"
    )
    assert lh("docs.artifact.show", id="ART-001", workspace="copy")["count"]


CUT = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE "
    "application_name = 'longhouse' AND datname = current_database()"
)


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_a_connection_that_breaks_during_an_export_ends_it(
    lh: Lh, admin: psycopg.Connection[Any]
) -> None:
    fill(lh)

    class Breaking(io.BytesIO):
        def write(self, data: Any) -> int:
            if not self.tell():
                admin.execute(CUT)
            return super().write(data)

    file = Breaking()
    with pytest.raises(StoreBusy, match="broke during the export"):
        export_workspace(lh.house.db, artifacts_of(lh.house), "acme", file, call_of(lh.house))
    assert file.getvalue().count(b"longhouse.json") == 1


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_an_export_begins_on_a_fresh_connection_if_the_old_one_broke(
    lh: Lh, admin: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(lh)
    whole = exported(lh.house)
    engine = lh.house.db.engine
    schema_version = engine.schema_version

    def before_the_read() -> int:
        found = schema_version()
        admin.execute(CUT)
        return found

    monkeypatch.setattr(engine, "schema_version", before_the_read)
    assert exported(lh.house) == whole


def test_a_busy_store_is_not_taken_for_damage(lh: Lh, monkeypatch: pytest.MonkeyPatch) -> None:
    lh("docs.artifact.add", name="a", content="y" * 600)

    def busy(*_: Any) -> bytes:
        raise StoreBusy

    monkeypatch.setattr(artifacts_of(lh.house).blobs, "get", busy)
    with pytest.raises(StoreBusy):
        exported(lh.house, without_damaged=True)


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
@pytest.mark.parametrize("what", ["export", "verify", "repair"])
def test_no_server_ends_upkeep_that_is_busy_with_bytes(
    lh: Lh, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        lh("docs.artifact.add", name=f"a{n}", content=f"artifact {n}")
    house, keeper = lh.house, artifacts_of(lh.house)
    open_reads: list[Tx] = []
    limits: list[str] = []
    limit = Query(
        "limit", "", "SELECT current_setting('idle_in_transaction_session_timeout') AS limit"
    )
    read, get = house.db.read, keeper.blobs.get

    def reading(workspace: str, function: Callable[[Tx], Any], call: Call) -> Any:
        def run(tx: Tx) -> Any:
            open_reads.append(tx)
            return function(tx)

        return read(workspace, run, call)

    def got(digest: str, offset: int, length: int) -> bytes:
        limits.append(open_reads[-1].value(limit))
        return get(digest, offset, length)

    monkeypatch.setattr(house.db, "read", reading)
    monkeypatch.setattr(keeper.blobs, "get", got)
    if what == "export":
        exported(house)
    elif what == "verify":
        is_sound(house)
    else:
        repair(house.db, keeper, house.registry, call_of(house), None)
    assert set(limits) == {"0"}
