"""An attacker who may read wants a secret that someone else let slip into a text."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longhouse.client.feed import page_after
from longhouse.dispatch.events import frame_of, log_page
from longhouse.kernel.delegation import MAX_MESSAGE, MAX_SUMMARY
from longhouse.kernel.redact import HIDDEN, redact_fields
from longhouse.kernel.registry import Role
from longhouse.runner.event_log import EventLog
from longhouse.store.artifacts import artifacts_of
from longhouse.store.artifacts.masking import masked
from longhouse.store.artifacts.types import Artifact
from longhouse.store.artifacts.view import ArtifactView
from longhouse.store.tx import Call, Tx
from longhouse.store.upkeep.exporting import export_workspace
from longhouse.supervisor import StreamCapture
from tests.kit import CountedIds, Lh
from tests.runner.kit import Rig
from tests.security.kit import Outsider
from tests.store.test_artifacts import grow, text_of, writing

TOKEN = "ghp_" + "".join(chr(97 + n % 26) for n in range(36))
KEY = "-----BEGIN PRIVATE KEY-----\n" + "".join(f"QUJD{n:05d}\n" for n in range(900))
PEM = KEY + "-----END PRIVATE KEY-----\n"
SECRETS = [TOKEN, "password=correct-horse-battery-9", f"https://bot:{TOKEN[4:]}@git.example/x"]
HIDDEN_PARTS = [TOKEN[4:], "correct-horse-battery-9"]


def view_of(data: bytes) -> ArtifactView:
    return ArtifactView(lambda offset, length: data[offset : offset + length], len(data))


def leaks(shown: str, secret: str, least: int = 4) -> bool:
    return any(secret[at : at + least] in shown for at in range(len(secret) - least + 1))


@pytest.mark.parametrize("secret", SECRETS)
def test_no_window_of_any_offset_and_length_shows_a_part_of_a_token(secret: str) -> None:
    data = f"some log 1 2 3\n{secret}\n5 6 7 log\n".encode()
    whole = masked(view_of(data), view_of(data).text(0, len(data)), growing=False)[0].data
    assert len(whole) == len(data)
    assert not any(leaks(whole.decode(), part) for part in HIDDEN_PARTS)
    for offset in range(len(data)):
        for length in range(1, len(data) - offset + 1):
            piece, _ = masked(view_of(data), view_of(data).text(offset, length), growing=False)
            assert piece.data == whole[piece.offset : piece.next_offset]


@given(st.integers(0, len(PEM) + 5), st.integers(1, 400))
@settings(max_examples=200)
def test_no_window_inside_a_private_key_shows_a_line_of_it(offset: int, length: int) -> None:
    data = ("x\n" + PEM + "tail\n").encode()
    piece, _ = masked(view_of(data), view_of(data).text(offset, length), growing=False)
    assert b"QUJ" not in piece.data


def test_every_way_to_read_an_artifact_stars_the_token_out_and_keeps_the_offsets(lh: Lh) -> None:
    text = "".join(f"line {n} of the log\n" for n in range(40)) + f"use {TOKEN} now\nend\n"
    lh("docs.artifact.add", name="log", content=text)
    at = text.index(TOKEN)
    ways: list[dict[str, Any]] = [
        {},
        *({"offset_bytes": at + n, "bytes": 9} for n in range(0, 40, 3)),
        *({"offset_bytes": max(0, at - n), "bytes": n + 6} for n in range(0, 60, 7)),
        {"line": 41, "lines": 1},
        {"line": 41, "lines": 1, "bytes": 20},
        {"tail_lines": 2},
        {"tail_lines": 2, "bytes": 30},
    ]
    for way in ways:
        shown = lh("docs.artifact.show", id="ART-001", **way)
        assert not leaks(text_of(shown), TOKEN[4:]), way
        for part in shown["parts"]:
            assert len(part["text"]) == part["next_offset"] - part["offset_bytes"]
        small = lh("docs.artifact.show", id="ART-001", **way, max_chars=900)
        assert not leaks(text_of(small), TOKEN[4:]), way
        assert not leaks("\n".join(lh.lines("docs.artifact.show", id="ART-001", **way)), TOKEN[4:])
    assert not leaks(str(lh("open", id="ART-001")), TOKEN[4:])


def test_the_next_step_that_is_offered_shows_no_token_of_a_title(lh: Lh) -> None:
    lh("tasks.macro.start", task_title=f"rotate {TOKEN}")
    lh("tasks.focus.clear")
    told = lh.envelope("status")
    assert "rotate" in str(told["actions"])
    assert told["warnings"] == []
    assert not leaks(str(told), TOKEN[4:])


def test_a_label_keeps_its_place_before_the_stars(lh: Lh) -> None:
    lh("docs.artifact.add", name="log", content="a password=hunter2222 b\n")
    assert text_of(lh("docs.artifact.show", id="ART-001")) == "a password=********** b\n"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12)
@given(cut=st.integers(0, len(TOKEN)))
def test_a_token_that_a_cap_cut_in_two_is_hidden_on_both_sides_of_the_gap(lh: Lh, cut: int) -> None:
    head = b"h" * (500 - 1 - cut) + b" "
    sealed = grow(lh, [head + TOKEN.encode() + b" x" * 800 + b"z" * 200], cap=1000)
    assert sealed.gap is not None
    shown = lh("docs.artifact.show", id=sealed.handle)
    assert not leaks(text_of(shown), TOKEN[4:])
    late = grow(lh, [b"h " * 900 + TOKEN.encode() + b" " + b"t" * (500 - 1 - cut)], cap=1000)
    assert not leaks(_read_all(lh, late), TOKEN[4:])


def _read_all(lh: Lh, artifact: Artifact) -> str:
    seen, offset = "", 0
    while True:
        page = lh("docs.artifact.show", id=artifact.handle, offset_bytes=offset)
        seen += text_of(page)
        if not page["has_more"]:
            return seen
        offset = page["next_cursor"]


def test_a_token_that_a_growing_log_has_only_begun_is_held_back_until_it_is_whole(lh: Lh) -> None:
    keeper = artifacts_of(lh.house)
    begun, ws = writing(lh, lambda tx: (keeper.begin(tx, name="stdout"), tx.ws))
    log = keeper.log(begun, ws, cap=None)
    seen, offset = "", 0
    for at in range(0, len(TOKEN), 3):
        log.append((b"use " if at == 0 else b"") + TOKEN[at : at + 3].encode())
        shown = lh("docs.artifact.show", id=begun.handle, offset_bytes=offset)
        seen, offset = seen + text_of(shown), shown["next_cursor"]
        assert not shown["has_more"]
    log.append(b" now\n")
    seen += text_of(lh("docs.artifact.show", id=begun.handle, offset_bytes=offset))
    assert not leaks(seen, TOKEN[4:])
    assert seen.startswith("use ")
    assert seen.endswith("* now\n")
    assert len(seen) == len(f"use {TOKEN} now\n")


@pytest.mark.parametrize(
    "guess", [TOKEN, TOKEN[:12], f"{TOKEN[:12]}*", TOKEN[4:], f"{TOKEN[4:9]}*", "correct*", "horse"]
)
def test_no_search_confirms_a_guess_of_a_secret(lh: Lh, guess: str) -> None:
    said = f"deploy with {TOKEN} and password=correct-horse-battery-9 today"
    lh("vcs.notes.commit", content=said, title=f"key {TOKEN}")
    lh(
        "graph.apply",
        ops=[{"op": "node_upsert", "id": "n1", "type": "note", "title": "t", "text": said}],
    )
    sender = lh("agents.register", name="amber-otter", role="coder")["agent_token"]
    lh("agents.register", name="brave-heron", role="coder")
    lh(
        "agents.send",
        agent="amber-otter",
        agent_token=sender,
        to="brave-heron",
        bead_id=lh("tasks.bootstrap", task_title="T", plan_title="P")["task"]["id"],
        category="INFO",
        subject="keys",
        body=said,
    )
    for cmd, field, args in (
        ("docs.search", "hits", {}),
        ("graph.query", "nodes", {}),
        ("agents.inbox", "messages", {"agent": "brave-heron"}),
        ("agents.inbox", "messages", {"agent": "brave-heron", "state": ["unread"]}),
    ):
        assert lh(cmd, text=guess, **args)[field] == [], (cmd, guess)
        assert len(lh(cmd, text="deploy", **args)[field]) >= 1, cmd
        assert TOKEN[4:] not in str(lh(cmd, text="today", **args))


def test_a_snippet_is_cut_after_secrets_are_hidden(lh: Lh) -> None:
    for length in range(240, 280):
        lh(
            "vcs.notes.commit",
            content=f"{'snip ' * (length // 5)}{'x' * (length % 5)} Bearer {TOKEN[4:]}1",
        )
    shown = str(lh("docs.search", text="snip", limit=50, max_chars=20_000))
    assert not leaks(shown, TOKEN[4:])


def test_a_preview_of_a_message_is_cut_after_secrets_are_hidden(lh: Lh) -> None:
    from longhouse.kernel.lines import clip

    for chars in range(8, 60):
        assert not leaks(clip(f"use Bearer {TOKEN[4:]}1 now and then some", chars), TOKEN[4:])


def test_events_hide_secrets_in_subject_ref_actor_and_data_on_every_door(lh: Lh) -> None:
    def slip(tx: Tx) -> None:
        tx.append("crew", TOKEN, "said", {"note": f"\n{TOKEN}", TOKEN: 1})

    lh.house.db.write("acme", slip, Call(now_ms=1, ids=CountedIds(), actor=TOKEN))
    call = Call(now_ms=1, ids=CountedIds())
    rows, upto = lh.house.db.read("acme", lambda tx: log_page(tx, 0, 10), call)
    (event,) = page_after(lh.house, 0, "acme")
    frame = frame_of(rows[0])
    for shown in (str(event), frame.wire.decode()):
        assert not leaks(shown, TOKEN[4:])
    assert (event["subject"], event["actor"]) == (HIDDEN, HIDDEN)
    assert event["ref"] == f"{HIDDEN}@1"
    assert (upto, frame.seq, frame.subject) == (1, 1, TOKEN)


def test_an_event_that_is_too_large_says_so_on_every_door(lh: Lh) -> None:
    call = Call(now_ms=1, ids=CountedIds())
    large = {"text": "long " * 20_000}
    lh.house.db.write("acme", lambda tx: tx.append("crew", "bd-1", "said", large), call)
    (event,) = page_after(lh.house, 0, "acme")
    assert (event["data"], event["clipped"]) == ({}, True)
    rows, _ = lh.house.db.read("acme", lambda tx: log_page(tx, 0, 10), call)
    assert len(frame_of(rows[0]).wire) < 1_000


def test_logs_hide_secrets_whatever_they_stand_in(capsys: pytest.CaptureFixture[str]) -> None:
    slips: dict[str, Any] = {
        "text": f"\n{TOKEN}",
        "error": ValueError(f"bad {TOKEN}"),
        "paths": (Path(f"/tmp/{TOKEN}"),),
        "nested": {"deep": [{TOKEN: {TOKEN}}]},
        "password": "hunter",
        "odd": f"\ud800 {TOKEN}",
    }
    for as_json in (False, True):
        EventLog(as_json=as_json)("slipped", **slips)
    assert not leaks(capsys.readouterr().err, TOKEN[4:])
    shown = str(redact_fields(slips))
    assert not leaks(shown, TOKEN[4:])
    assert "hunter" not in shown


WRITES_A_LOG = """
import logging, sys
from pathlib import Path
import structlog
from longhouse.surfaces.logs import configure
folder, token = Path(sys.argv[1]), sys.argv[2]
configure("info", folder)
structlog.get_logger().info(f"slipped {token}", text=token, error=ValueError(token))
logging.getLogger("a.library").warning("foreign %s", token)
"""


def test_the_log_of_a_server_hides_what_it_and_its_libraries_say(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", WRITES_A_LOG, str(tmp_path), TOKEN]
    subprocess.run(argv, check=True, timeout=60)
    lines = (tmp_path / "server.log").read_text().splitlines()
    assert ["slipped" in lines[0], "foreign" in lines[1]] == [True, True]
    assert not leaks("".join(lines), TOKEN[4:])


def binary(lh: Lh, token: str) -> None:
    """ART-004: two megabytes that are no text, with a token where the parts of it met."""
    data = b"\0" * 1_048_500 + token.encode() + b"\0" * 900_000
    parts = [data[:900_000], data[900_000:1_800_000], data[1_800_000:]]
    for part in parts:
        lh("docs.artifact.add", name="part", content_b64=base64.b64encode(part).decode())
    ids = [hashlib.sha256(part).hexdigest() for part in parts]
    digest = hashlib.sha256(data).hexdigest()
    lh("docs.artifact.join", name="whole", parts=ids, digest=digest)


def test_bytes_with_a_live_token_of_this_house_are_refused_until_it_is_revoked(lh: Lh) -> None:
    made = lh("system.token.create", role="operator")
    binary(lh, made["token"])
    for offset in (0, 1_048_400, 1_900_000):
        error = lh.refused("docs.artifact.show", id="ART-004", offset_bytes=offset)
        assert error["code"] == "FORBIDDEN"
    lh("system.token.revoke", id=made["id"])
    assert lh("docs.artifact.show", id="ART-004")["encoding"] == "base64"


def test_bytes_with_the_token_of_an_agent_are_refused(lh: Lh) -> None:
    binary(lh, lh("agents.register", name="amber-otter", role="coder")["agent_token"])
    assert lh.refused("docs.artifact.show", id="ART-004")["code"] == "FORBIDDEN"


def test_whoever_may_only_look_is_shown_no_bytes_that_cannot_be_starred_out(lh: Lh) -> None:
    """A NUL beside a secret makes a file binary; its bytes would carry the secret as it is."""
    data = base64.b64encode(f"\0{TOKEN}".encode()).decode()
    lh("docs.artifact.add", name="core", content_b64=data)
    lh("docs.artifact.add", name="log", content="plain text", media_type="text/plain")
    viewer, agent = (Outsider(lh, f"TOK-{role}", role) for role in (Role.VIEWER, Role.AGENT))
    for way in ({}, {"offset_bytes": 0, "bytes": 20}, {"tail_lines": 1}, {"line": 1}):
        error = viewer.refused("docs.artifact.show", id="ART-001", **way)
        assert (error["code"], "--role agent" in error["recovery"]) == ("FORBIDDEN", True)
        assert agent("docs.artifact.show", id="ART-001", **way)["encoding"] == "base64"
    assert viewer.refused("open", id="ART-001")["code"] == "FORBIDDEN"
    assert text_of(viewer("docs.artifact.show", id="ART-002")) == "plain text"


@pytest.mark.parametrize("at", range(0, len(TOKEN), 5))
def test_what_a_program_printed_is_cut_after_secrets_are_hidden(at: int) -> None:
    printed = StreamCapture(head=100, tail=100)
    begins = b"x" * (99 - at) + b" " + TOKEN.encode()
    ends = TOKEN.encode() + b" " + b"y" * (99 - at)
    printed.feed(begins + b" middle " * 60 + ends)
    assert printed.omitted
    assert not leaks(printed.text(), TOKEN[4:])
    assert printed.text().endswith("y" * (99 - at))
    whole = StreamCapture()
    whole.feed(b"some words, then " + TOKEN.encode() + b"!" * at)
    assert not leaks(whole.last(20 + at), TOKEN[4:])


def test_a_report_of_a_runner_is_cut_after_secrets_are_hidden(rig: Rig) -> None:
    """The token would end where the longest message does, and then no longer look like one."""
    job = rig.job("done()")
    claim = rig.claim(job).claim
    claim.report("progress", "x" * (MAX_MESSAGE - 20) + " " + TOKEN)
    claim.complete("FAILED", "x" * (MAX_SUMMARY - 20) + " " + TOKEN, [])
    assert not leaks(str(rig.view(job)), TOKEN[4:])
    kept = rig.house.db.read("acme", lambda tx: log_page(tx, 0, 50), Call(ids=CountedIds()))
    assert not leaks(str(kept), TOKEN[4:])


def test_what_an_export_says_of_itself_holds_no_secret_of_its_rows(lh: Lh) -> None:
    """The rows are a backup and stay whole; what is shown and listed of them is not."""
    lh("vcs.notes.commit", content=f"deploy with {TOKEN}", title=f"key {TOKEN}")
    lh("docs.artifact.add", name=f"{TOKEN}.log", content=TOKEN)
    file = BytesIO()
    call = Call(now_ms=1, ids=CountedIds())
    house = lh.house
    made = export_workspace(house.db, artifacts_of(house), "acme", file, call)
    assert TOKEN.encode() in file.getvalue()
    assert not leaks(str(made), TOKEN[4:])
    file.seek(0)
    with tarfile.open(fileobj=file) as archive:
        listed = [member.name for member in archive.getmembers()]
        about = [archive.extractfile(name).read() for name in ("longhouse.json", "manifest.json")]  # type: ignore[union-attr]
    assert not leaks(str(listed) + str(about), TOKEN[4:])


def padding_of(size: int) -> bytes:
    """What SHA-256 puts behind so many bytes before it ends."""
    return b"\x80" + bytes((55 - size) % 64) + (size * 8).to_bytes(8, "big")


class Joiner(Outsider):
    """Another agent, who would join what it cannot read."""

    def joins(self, *parts: str, digest: str, media_type: str) -> dict[str, Any]:
        asked = {"name": "got", "parts": list(parts), "digest": digest, "media_type": media_type}
        return self.refused("docs.artifact.join", **asked)

    def adds(self, data: bytes) -> str:
        made = self("docs.artifact.add", name="a", content_b64=base64.b64encode(data).decode())
        return str(made["artifact"]["handle"])


def test_joining_a_text_as_bytes_shows_nobody_what_is_starred_out_of_it(lh: Lh) -> None:
    log = grow(lh, [b"\0 ", TOKEN.encode(), b"\n"], cap=None)
    assert log.digest is not None
    thief = Joiner(lh, "TOK-b")
    error = thief.joins(log.handle, digest=log.digest, media_type="application/octet-stream")
    assert (error["code"], "media_type: parts[0]" in error["message"]) == ("INVALID_INPUT", True)
    assert lh("docs.artifact.list")["count"] == 1


@pytest.mark.parametrize("media_type", ["text/plain", "application/octet-stream"])
def test_nobody_joins_bytes_that_they_do_not_have(lh: Lh, media_type: str) -> None:
    secret = f"use {TOKEN} now\n".encode()
    thief = Joiner(lh, "TOK-b")
    lh("docs.artifact.add", name="a log", content_b64=base64.b64encode(secret).decode())
    zero = thief.adds(b"\0")
    error = thief.joins("ART-001", zero, digest="0" * 64, media_type=media_type)
    assert error["code"] == "CONFLICT"
    assert hashlib.sha256(secret + b"\0").hexdigest() not in str(error)

    padding = padding_of(len(secret))
    forged = hashlib.sha256(secret + padding + b"x").hexdigest()  # known from that of the secret
    whole, half = thief.adds(padding + b"x"), thief.adds(padding[:7])
    for more in ([whole], [half, thief.adds(padding[7:] + b"x")]):
        error = thief.joins("ART-001", *more, digest=forged, media_type=media_type)
        assert (error["code"], "padding" in error["message"]) == ("INVALID_INPUT", True)
