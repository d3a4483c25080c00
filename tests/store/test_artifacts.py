"""Artifacts through the commands and through the keeper that rooms use."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from longhouse.house import House
from longhouse.kernel.errors import Conflict, Forbidden, StoreError, StoreUnusable
from longhouse.store.artifacts import Artifacts, QuotaExceeded, artifacts_of
from longhouse.store.artifacts.folder import FolderBlobs
from longhouse.store.artifacts.growing import GrowingLog
from longhouse.store.artifacts.raw import refuse_tokens_at
from longhouse.store.artifacts.sweep import expire
from longhouse.store.artifacts.types import Artifact
from longhouse.store.artifacts.view import ArtifactView
from longhouse.store.tx import Call, LogRow, Tx, sql
from tests.kit import CountedIds, Lh
from tests.store.kit import CALL


def writing(lh: Lh, function: Callable[[Tx], Any]) -> Any:
    """Run a function of a Tx as a room's handler would run."""
    call = Call(now_ms=lh.clock.now_ms(), ids=CountedIds(), facts=lh.house.facts)
    return lh.house.db.write("acme", function, call)


def text_of(shown: dict[str, Any]) -> str:
    return "".join(part["text"] for part in shown["parts"])


def grow(lh: Lh, chunks: list[bytes], *, cap: int | None = None, shared: bool = False) -> Artifact:
    """Write and seal a whole log."""
    keeper = artifacts_of(lh.house)
    begun = writing(lh, lambda tx: (keeper.begin(tx, name="stdout", cap=cap), tx.ws))
    log = keeper.log(*begun, cap=cap)
    for chunk in chunks:
        log.append(chunk)
    sealed = keeper.finish(log, now_ms=lh.clock.now_ms(), shared=shared)
    return writing(lh, lambda tx: keeper.seal(tx, begun[0].handle, *sealed))


def test_a_text_is_stored_under_its_digest_and_opened_by_its_beginning(lh: Lh) -> None:
    added = lh("docs.artifact.add", name="report.md", content="# Grüße\n")
    digest = hashlib.sha256("# Grüße\n".encode()).hexdigest()
    assert added["artifact"]["id"] == digest
    assert added["ref"] == f"artifact:{digest[:12]}"
    assert text_of(lh("open", id=added["ref"])) == "# Grüße\n"
    assert text_of(lh("docs.artifact.show", id=digest)) == "# Grüße\n"
    assert lh("open", id="ART-001")["artifact"]["name"] == "report.md"


@pytest.mark.proves("TTA-035")
def test_the_same_content_again_is_the_same_artifact(lh: Lh) -> None:
    first = lh("docs.artifact.add", name="a", content="same")
    again = lh("docs.artifact.add", name="a", content="same")
    other = lh("docs.artifact.add", name="b", content="same")
    assert (first["created"], again["created"], other["created"]) == (True, False, True)
    assert again["artifact"]["handle"] == first["artifact"]["handle"]
    assert other["artifact"]["digest"] == first["artifact"]["digest"]
    assert first["artifact"]["digest"] == hashlib.sha256(b"same").hexdigest()


def test_bytes_come_back_as_base64_and_text_with_bad_bytes_as_text(lh: Lh) -> None:
    lh("docs.artifact.add", name="x", content_b64="AAEC/w==")
    shown = lh("docs.artifact.show", id="ART-001")
    assert (shown["encoding"], text_of(shown)) == ("base64", "AAEC/w==")
    lh("docs.artifact.add", name="y", content_b64="/2hp", media_type="text/plain")
    assert text_of(lh("docs.artifact.show", id="ART-002")) == "\N{REPLACEMENT CHARACTER}hi"


@pytest.mark.parametrize(
    "args, part",
    [
        ({}, "content: give either"),
        ({"content": "a", "content_b64": "YQ=="}, "content: give either"),
        ({"content_b64": "YQ"}, "content_b64: not base64"),
        ({"content": "a", "media_type": "nonsense"}, "media_type"),
    ],
)
def test_a_wrong_add_names_the_field(lh: Lh, args: dict[str, Any], part: str) -> None:
    error = lh.refused("docs.artifact.add", name="x", **args)
    assert error["code"] == "INVALID_INPUT"
    assert part in error["message"]


def test_an_unknown_or_ambiguous_id_says_what_to_do(lh: Lh) -> None:
    assert lh.refused("open", id="artifact:00000000")["code"] == "UNKNOWN_ID"
    assert lh.refused("docs.artifact.show", id="../../etc/passwd")["code"] == "UNKNOWN_ID"
    error = lh.refused("docs.artifact.show", id="x", line=1, tail_lines=2)
    assert "tail_lines: cannot be combined with line" in error["message"]


def test_paging_under_a_tight_budget_loses_no_byte(lh: Lh) -> None:
    text = "".join(f"{n:05d} é‰😀 some words in a line\n" for n in range(300))
    lh("docs.artifact.add", name="log", content=text)
    seen = ""
    offset: int | None = 0
    while offset is not None:
        page: Any = lh("docs.artifact.show", id="ART-001", offset_bytes=offset, max_chars=2000)
        assert page["budget"]["used_chars"] <= 2000
        seen, offset = seen + text_of(page), page["next_cursor"]
    assert seen == text


def test_a_secret_is_hidden_wherever_the_parts_are_cut(lh: Lh) -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "QUJD\n" * 300 + "-----END PRIVATE KEY-----\n"
    lh("docs.artifact.add", name="log", content="x" * 500 + " ghp_" + "a" * 36 + "\n" + key)
    text = text_of(lh("docs.artifact.show", id="ART-001"))
    assert "QUJD" not in text
    assert "aaaa" not in text


def test_lines_are_read_by_number_and_from_the_end(lh: Lh) -> None:
    lh("docs.artifact.add", name="log", content="".join(f"line {n}\n" for n in range(1, 101)))
    shown = lh("docs.artifact.show", id="ART-001", line=99, lines=5)
    assert (shown["first_line"], text_of(shown)) == (99, "line 99\nline 100\n")
    assert text_of(lh("docs.artifact.show", id="ART-001", tail_lines=1)) == "line 100\n"
    assert text_of(lh("docs.artifact.show", id="ART-001", lines=2)) == "line 1\nline 2\n"
    assert text_of(lh("docs.artifact.show", id="ART-001", tail_lines=2, lines=1)) == (
        "line 99\nline 100\n"
    )
    assert lh.lines("docs.artifact.show", id="ART-001", line=7, lines=1)[1] == "line 7"


def test_the_lines_of_a_part_say_where_the_next_begins_and_of_the_last_nothing(lh: Lh) -> None:
    lh("docs.artifact.add", name="log", content="one\ntwo\n")
    assert lh.lines("docs.artifact.show", id="ART-001", lines=1)[1:3] == [
        "one",
        "MORE: offset_bytes=4",
    ]
    rest = lh.lines("docs.artifact.show", id="ART-001", offset_bytes=4)
    assert rest[1] == "two"
    assert not [line for line in rest if line.startswith("MORE:")]


def test_the_list_pages_newest_first_and_says_what_is_used(lh: Lh) -> None:
    assert lh("docs.artifact.list")["usage"]["used_bytes"] == 0
    for n in range(5):
        lh("docs.artifact.add", name=f"n{n}", content="x" * n + "y", owner="JOB-001")
    page = lh("docs.artifact.list", limit=3, owner="JOB-001")
    assert [a["name"] for a in page["artifacts"]] == ["n4", "n3", "n2"]
    rest = lh("docs.artifact.list", limit=3, cursor=page["next_cursor"])
    assert [a["name"] for a in rest["artifacts"]] == ["n1", "n0"]
    assert page["usage"]["used_bytes"] == 15


def logged(lh: Lh) -> list[LogRow]:
    """What the log says about artifacts."""
    found = lh.house.db.read("acme", lambda tx: tx.all(sql.log_after, after=0, limit=99), CALL)
    return [LogRow.from_row(row) for row in found if row["stream"] == "artifacts"]


def test_the_log_tells_of_a_log_that_grows_and_is_sealed_and_of_what_expires(lh: Lh) -> None:
    made = grow(lh, [b"all of it"])
    lh("docs.artifact.add", name="a", content="old", expires_in_s=60)
    lh.clock.advance(61_000)
    assert writing(lh, lambda tx: expire(tx, ())) == 1
    told = [(row.subject, row.kind) for row in logged(lh)]
    assert told == [
        (made.handle, "begun"),
        (made.handle, "sealed"),
        ("ART-002", "added"),
        ("ART-002", "expired"),
    ]
    assert logged(lh)[-1].data == {"digest": hashlib.sha256(b"old").hexdigest()}


def test_opening_an_artifact_shows_its_first_4_kib_and_where_it_goes_on(lh: Lh) -> None:
    lh("docs.artifact.add", name="a", content="x y " * 2_000)
    shown = lh("open", id="ART-001")
    assert text_of(shown) == "x y " * 1_024
    rest = lh("docs.artifact.show", id="ART-001", offset_bytes=shown["next_cursor"])
    assert text_of(rest) == "x y " * 976


def test_who_adds_it_again_for_longer_prolongs_it_and_the_log_says_until_when(lh: Lh) -> None:
    now = lh.clock.now_ms()
    for seconds, until in ((60, 60_000), (30, 60_000), (90, 90_000), (None, None), (60, None)):
        more = {} if seconds is None else {"expires_in_s": seconds}
        made = lh("docs.artifact.add", name="a", content="x", **more)["artifact"]
        assert made.get("expires_at_ms") == (until and now + until)
    told = [(row.kind, row.data.get("expires_at_ms")) for row in logged(lh)]
    assert told[1:] == [("prolonged", now + 90_000), ("prolonged", None)]


@pytest.mark.parametrize("within", [0, 1, 20, 40, 60])
def test_bytes_of_or_beside_a_live_token_are_refused(lh: Lh, within: int) -> None:
    token = lh("system.token.create", role="agent")["token"].encode()
    data = b"\xff" * 40 + token + b"\xfe" * 100_000
    view = ArtifactView(lambda offset, length: data[offset : offset + length], len(data))

    def look(offset: int, length: int) -> None:
        piece = view.read(offset, length)
        writing(lh, lambda tx: refuse_tokens_at(tx, "the output", view, piece))

    with pytest.raises(Forbidden, match="the output contains a Longhouse token"):
        look(40 + min(within, len(token) - 1), 8)
    look(len(data) - 20, 8)


def test_a_sealed_log_was_synced_before_its_bytes_are_shared(
    folder_lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    def spied(of: type, name: str) -> None:
        real = getattr(of, name)

        def spy(*args: Any) -> Any:
            steps.append(name)
            return real(*args)

        monkeypatch.setattr(of, name, spy)

    spied(GrowingLog, "sync")
    spied(FolderBlobs, "put")
    grow(folder_lh, [b"all of it"])
    assert steps[-2:] == ["sync", "put"]


def test_a_quota_refuses_what_does_not_fit_and_nothing_is_left_behind(
    new_house: Callable[..., House], lh: Lh
) -> None:
    artifacts_of(lh.house).quota_bytes = 10
    lh("docs.artifact.add", name="a", content="x" * 8)
    assert lh.refused("docs.artifact.add", name="b", content="yyy")["code"] == "QUOTA_EXCEEDED"
    assert lh("docs.artifact.list")["count"] == 1
    lh("docs.artifact.add", name="c", content="zz")
    with pytest.raises(QuotaExceeded):
        writing(lh, lambda tx: artifacts_of(lh.house).begin(tx, name="stdout"))


def test_a_quota_is_used_to_the_last_byte_also_by_logs_that_grow(lh: Lh) -> None:
    keeper = artifacts_of(lh.house)
    keeper.quota_bytes = 10
    begun, ws = writing(lh, lambda tx: (keeper.begin(tx, name="stdout"), tx.ws))
    writing(lh, lambda tx: keeper.expect_more(tx, begun.handle, 10))
    keeper.log(begun, ws, cap=None).append(b"12345678")
    writing(lh, lambda tx: keeper.expect_more(tx, begun.handle, 2))
    with pytest.raises(QuotaExceeded):
        writing(lh, lambda tx: keeper.expect_more(tx, begun.handle, 3))
    lh("docs.artifact.add", name="a", content="x" * 10)
    assert writing(lh, keeper.left) == 0


def test_a_growing_log_is_read_while_it_grows_and_sealed_at_its_end(lh: Lh) -> None:
    keeper = artifacts_of(lh.house)
    begun, ws = writing(lh, lambda tx: (keeper.begin(tx, name="stdout", owner="T-1"), tx.ws))
    assert text_of(lh("docs.artifact.show", id=begun.ref)) == ""
    log = keeper.log(begun, ws, cap=None)
    log.append(b"one\ntw")
    shown = lh("docs.artifact.show", id=begun.ref)
    assert (text_of(shown), shown["next_cursor"], shown["has_more"]) == ("one\ntw", 6, False)
    assert log.append(b"o\n") == 6
    sealed = writing(
        lh, lambda tx: keeper.seal(tx, begun.handle, *keeper.finish(log, now_ms=tx.now_ms))
    )
    assert sealed.digest == hashlib.sha256(b"one\ntwo\n").hexdigest()
    assert text_of(lh("open", id=sealed.ref)) == "one\ntwo\n"
    with pytest.raises(Conflict, match="not a growing log"):
        writing(lh, lambda tx: keeper.seal(tx, begun.handle, *keeper.finish(log, now_ms=tx.now_ms)))


def test_a_crash_between_append_and_seal_loses_nothing(lh: Lh) -> None:
    keeper = artifacts_of(lh.house)
    begun, ws = writing(lh, lambda tx: (keeper.begin(tx, name="stdout"), tx.ws))
    log = keeper.log(begun, ws, cap=None)
    log.append(b"before ")
    keeper.finish(log, now_ms=0)  # the bytes are linked, the row is not written: a crash
    reborn = Artifacts(keeper.place)
    again = reborn.log(begun, ws, cap=None)
    again.append(b"after")
    sealed = writing(
        lh, lambda tx: reborn.seal(tx, begun.handle, *reborn.finish(again, now_ms=tx.now_ms))
    )
    assert sealed.digest == hashlib.sha256(b"before after").hexdigest()
    assert text_of(lh("open", id=sealed.ref)) == "before after"


def test_a_cap_keeps_head_and_tail_and_records_the_gap(lh: Lh) -> None:
    lines = [f"{n:07d}\n".encode() for n in range(40_000)]
    made = grow(lh, lines, cap=100_000)
    stream = b"".join(lines)
    assert made.size == len(stream)
    assert made.digest == hashlib.sha256(stream[:50_000] + stream[-50_000:]).hexdigest()
    assert made.gap is not None
    assert (made.gap.offset_bytes, made.gap.bytes) == (50_000, 220_000)
    assert made.gap.lines == stream[50_000:270_000].count(b"\n")
    shown = lh("docs.artifact.show", id=made.ref, offset_bytes=60_000, bytes=16)
    assert text_of(shown) == "*" * 7 + stream[270_007:270_016].decode()  # the rest of a secret?
    assert shown["skipped_bytes"] == 210_000
    assert text_of(lh("docs.artifact.show", id=made.ref, line=35_001, lines=1)) == "0035000\n"


def test_what_is_sealed_does_not_depend_on_how_the_bytes_came(lh: Lh) -> None:
    stream = bytes(range(256)) * 2000
    whole = grow(lh, [stream], cap=70_001)
    pieces = grow(lh, [stream[n : n + 777] for n in range(0, len(stream), 777)], cap=70_001)
    assert whole.digest == pieces.digest
    assert whole.gap == pieces.gap


def test_a_symbolic_link_in_the_folder_is_refused_not_followed(folder_lh: Lh) -> None:
    lh = folder_lh
    keeper = artifacts_of(lh.house)
    outside = keeper.path.parent.parent / "outside"
    outside.mkdir()
    digest = hashlib.sha256(b"secret").hexdigest()
    (keeper.path / "blobs" / digest[:2]).symlink_to(outside)
    with pytest.raises(StoreUnusable, match="symbolic link"):
        keeper.stage(b"secret", now_ms=0)
    assert list(outside.iterdir()) == []
    assert list((keeper.path / "staging").iterdir()) == []
    begun, ws = writing(lh, lambda tx: (keeper.begin(tx, name="stdout"), tx.ws))
    (keeper.path / "growing" / f"{ws}.{begun.handle}.log").symlink_to(outside / "x")
    with pytest.raises(StoreUnusable, match="symbolic link"):
        keeper.log(begun, ws, cap=None)


def test_files_and_folders_are_for_their_owner_alone(folder_lh: Lh) -> None:
    lh = folder_lh
    lh("docs.artifact.add", name="a", content="x")
    grow(lh, [b"y" * 300_000], cap=1000)
    root = artifacts_of(lh.house).path
    for path in [root, *root.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_full_disk_is_said_and_leaves_nothing(
    folder_lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    lh = folder_lh

    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("longhouse.store.artifacts.disk.os.write", full)
        error = lh.refused("docs.artifact.add", name="a", content="x")
    assert (error["code"], "disk is full" in error["message"]) == ("STORE_ERROR", True)
    assert lh("docs.artifact.list")["count"] == 0
    assert list((artifacts_of(lh.house).path / "staging").iterdir()) == []


def test_a_row_is_never_written_for_bytes_that_are_gone(lh: Lh) -> None:
    keeper = artifacts_of(lh.house)
    blob = keeper.stage(b"soon gone", now_ms=0)
    keeper.blobs.delete(blob.digest, untouched_since_ms=0)
    with pytest.raises(StoreError, match="gone"):
        writing(lh, lambda tx: keeper.record(tx, blob, name="x"))
    assert lh("docs.artifact.list")["count"] == 0


def test_a_hole_that_a_power_cut_left_unrecorded_is_not_read_as_data(folder_lh: Lh) -> None:
    lh = folder_lh
    keeper = artifacts_of(lh.house)
    begun, ws = writing(lh, lambda tx: (keeper.begin(tx, name="stdout", cap=200_000), tx.ws))
    log = keeper.log(begun, ws, cap=200_000)
    log.append(b"x" * 1_000_000)
    (keeper.path / "growing" / f"{log.name}.gap").unlink()
    again = keeper.log(begun, ws, cap=200_000)
    again.append(b"y")
    sealed = writing(
        lh, lambda tx: keeper.seal(tx, begun.handle, *keeper.finish(again, now_ms=tx.now_ms))
    )
    stored = keeper.blobs.get(sealed.digest or "", 0, 200_000)
    assert stored == b"x" * 199_999 + b"y"
