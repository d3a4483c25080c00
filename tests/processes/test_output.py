"""Reading the output of a background process: ranges, tails, lines, gaps, masks, raw bytes."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from longhouse.dispatch import Caller
from longhouse.kernel.registry import Role
from longhouse.kernel.secret_shapes import LONGEST
from longhouse.kernel.tool_tasks import task_folder
from longhouse.processes.facts import ProcessFacts
from tests.kit import Lh
from tests.processes.kit import Runner, ended, out

TOKEN = "ghp_" + "a1B2" * 9


def folder(lh: Lh, task_id: str = "PROC-001") -> Path:
    made = task_folder(lh.house.facts.of(ProcessFacts).store, "acme", task_id)
    made.mkdir(parents=True, exist_ok=True, mode=0o700)
    return made


def printed(lh: Lh, data: bytes, *, over: bool = True) -> str:
    """A task whose output is this, as its host left it."""
    runner = Runner(lh)
    task_id = runner.start()
    (folder(lh, task_id) / "stdout.log").write_bytes(data)
    runner.append(task_id, {"type": "tool_stdout", "offset_bytes": 0, "bytes": len(data)})
    if over:
        seal = {"bytes_total": len(data), "bytes_stored": len(data)}
        runner.append(task_id, ended(logs={"stdout": seal}))
    return task_id


def text(result: dict) -> str:
    return "".join(part["text"] for part in result["parts"])


def test_a_range_of_bytes_is_read_and_says_where_to_go_on(lh: Lh) -> None:
    task_id = printed(lh, b"0123456789")
    got = lh("tool.output_fetch", task_id=task_id, offset_bytes=2, max_bytes=3)
    assert (text(got), got["offset_bytes"], got["next_cursor"]) == ("234", 2, 5)
    assert (got["total_bytes"], got["has_more"], got["capped"]) == (10, True, False)
    rest = lh("tool.output_fetch", task_id=task_id, offset_bytes=5)
    assert (text(rest), rest["has_more"]) == ("56789", False)
    past = lh("tool.output_fetch", task_id=task_id, offset_bytes=99)
    assert (text(past), past["next_cursor"]) == ("", 10)


@pytest.mark.proves("TTA-028")
@pytest.mark.parametrize(
    "asked", [{"offset_bytes": 2_000_000, "max_bytes": 500}, {"tail_lines": 3}], ids=str
)
def test_a_slice_is_read_without_the_rest_of_the_output(
    lh: Lh, monkeypatch: pytest.MonkeyPatch, asked: dict[str, int]
) -> None:
    task_id = printed(lh, b"".join(b"line %06d\n" % n for n in range(400_000)))
    log, pread = folder(lh, task_id) / "stdout.log", os.pread
    read = 0

    def counting(fd: int, length: int, offset: int) -> bytes:
        nonlocal read
        data = pread(fd, length, offset)
        read += len(data) if Path(f"/proc/self/fd/{fd}").readlink() == log else 0
        return data

    monkeypatch.setattr(os, "pread", counting)
    got = text(lh("tool.output_fetch", task_id=task_id, **asked))
    assert got.startswith("666\nline 166667\n" if "max_bytes" in asked else "line 399997\n")
    assert len(got) == asked.get("max_bytes", 36)
    assert 0 < read < 200_000


def test_lines_and_tails_are_read_as_such(lh: Lh) -> None:
    task_id = printed(lh, b"".join(b"line %d\n" % n for n in range(1, 101)))
    assert text(lh("tool.output_fetch", task_id=task_id, tail_lines=2)) == "line 99\nline 100\n"
    some = lh("tool.output_fetch", task_id=task_id, line=3, max_lines=2)
    assert (text(some), some["first_line"]) == ("line 3\nline 4\n", 3)


def test_characters_are_never_split_and_binary_is_safe(lh: Lh) -> None:
    task_id = printed(lh, "naïve ☃\n".encode() + b"\xff\x00\xfe\n")
    pieces, at = [], 0
    for _ in range(40):
        got = lh("tool.output_fetch", task_id=task_id, offset_bytes=at, max_bytes=1)
        pieces.append(text(got))
        at = got["next_cursor"]
        if not got["has_more"]:
            break
    assert "".join(pieces) == "naïve ☃\n�\x00�\n"


def test_a_secret_is_starred_out_in_every_window_and_offsets_stay_true(lh: Lh) -> None:
    data = f"token is {TOKEN} and more\n".encode()
    task_id = printed(lh, data)
    whole = text(lh("tool.output_fetch", task_id=task_id))
    assert TOKEN not in whole
    assert len(whole.encode()) == len(data)
    assert whole.endswith(" and more\n")
    for at in range(0, len(data), 7):
        window = lh("tool.output_fetch", task_id=task_id, offset_bytes=at, max_bytes=7)
        assert text(window) == whole[at : at + 7]


def test_the_beginning_of_a_token_is_held_back_while_the_log_grows(lh: Lh) -> None:
    task_id = printed(lh, f"ok {TOKEN[:12]}".encode(), over=False)
    got = lh("tool.output_fetch", task_id=task_id)
    assert (text(got), got["next_cursor"]) == ("ok ", 3)


def test_a_read_that_meets_the_gap_says_so_and_goes_on_behind_it(lh: Lh) -> None:
    task_id = printed(lh, b"headXXXXXX tail")
    (folder(lh, task_id) / "stdout.gap").write_text("4 10\n")
    first = lh("tool.output_fetch", task_id=task_id)
    assert (text(first), first["gap"], first["next_cursor"]) == ("head", {"from": 4, "to": 10}, 10)
    assert (first["capped"], first["has_more"]) == (True, True)
    inside = lh("tool.output_fetch", task_id=task_id, offset_bytes=6)
    assert (text(inside), inside["gap"]) == (" tail", {"from": 4, "to": 10})
    behind = lh("tool.output_fetch", task_id=task_id, offset_bytes=10)
    assert (text(behind), behind["gap"], behind["has_more"]) == (" tail", None, False)
    raw = lh("tool.output_raw", task_id=task_id, offset_bytes=6)
    assert (raw["bytes"], raw["gap"]) == (0, {"from": 4, "to": 10})


def test_behind_the_gap_no_line_is_given_a_number_that_nobody_knows(lh: Lh) -> None:
    """A request for a line that may be in the gap returns what is kept, without a line number."""
    task_id = printed(lh, b"one\ntwo\nXXX\nXXX\n last\n")
    (folder(lh, task_id) / "stdout.gap").write_text("8 16\n")
    head = lh("tool.output_fetch", task_id=task_id, line=2, max_lines=1)
    assert (text(head), head["first_line"], head["gap"]) == ("two\n", 2, {"from": 8, "to": 16})
    behind = lh("tool.output_fetch", task_id=task_id, line=5, max_lines=1)
    assert (text(behind), behind.get("first_line")) == (" last\n", None)
    assert behind["gap"] == {"from": 8, "to": 16}
    far = lh("tool.output_fetch", task_id=task_id, line=3, max_lines=1)
    assert (text(far), far.get("first_line")) == (" last\n", None)


def punched_while_read(
    monkeypatch: pytest.MonkeyPatch, log: Path, *, times: int = 1
) -> list[tuple[int, int]]:
    """Just before the next reads of a log, its host punches out the middle, recorded first."""
    pread, reads = os.pread, []

    def interleaved(fd: int, length: int, offset: int) -> bytes:
        if Path(f"/proc/self/fd/{fd}").readlink() == log:
            reads.append((offset, length))
            if len(reads) <= times:
                stop = 7 + 4 * len(reads)
                log.with_suffix(".gap").write_text(f"4 {stop}\n")
                log.write_bytes(b"head" + bytes(stop - 4) + log.read_bytes()[stop:])
        return pread(fd, length, offset)

    monkeypatch.setattr(os, "pread", interleaved)
    return reads


@pytest.mark.parametrize("offset", [0, 6])
def test_bytes_that_are_given_back_while_they_are_read_are_never_shown_as_zeros(
    lh: Lh, monkeypatch: pytest.MonkeyPatch, offset: int
) -> None:
    task_id = printed(lh, b"headXXXXXXX tail")
    reads = punched_while_read(monkeypatch, folder(lh, task_id) / "stdout.log")
    got = lh("tool.output_fetch", task_id=task_id, offset_bytes=offset)
    assert (text(got), got["gap"]) == (" tail" if offset else "head", {"from": 4, "to": 11})
    assert len(reads) > 1
    raw = lh("tool.output_raw", task_id=task_id, offset_bytes=offset)
    assert base64.b64decode(raw["data_b64"]) == (b"" if offset else b"head")


def test_a_log_that_is_cut_again_at_every_read_is_busy_and_shows_nothing_untrue(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = printed(lh, b"head" + b"X" * 400)
    punched_while_read(monkeypatch, folder(lh, task_id) / "stdout.log", times=20)
    error = lh.refused("tool.output_fetch", task_id=task_id, offset_bytes=11)
    assert error["code"] == "STORE_BUSY"


def test_a_stream_that_the_mode_does_not_have_is_refused(lh: Lh) -> None:
    task_id = printed(lh, b"x")
    error = lh.refused("tool.output_fetch", task_id=task_id, stream="pty")
    assert (error["code"], "has no pty" in error["message"]) == ("INVALID_INPUT", True)


def test_bytes_written_after_the_seal_are_not_shown(lh: Lh) -> None:
    task_id = printed(lh, b"all of it\n")
    with (folder(lh, task_id) / "stdout.log").open("ab") as file:
        file.write(b"a straggler\n")
    assert text(lh("tool.output_fetch", task_id=task_id)) == "all of it\n"


@pytest.mark.parametrize("role", [Role.AGENT, Role.VIEWER])
def test_raw_bytes_are_for_who_started_the_task_and_for_managers(lh: Lh, role: Role) -> None:
    task_id = printed(lh, TOKEN.encode())
    args = {"task_id": task_id}
    assert lh.house.call("tool.output_raw", args, Caller(role, owner="other")).code == "FORBIDDEN"
    manager = lh.house.call("tool.output_raw", args, Caller(Role.MANAGER, owner="boss"))
    assert base64.b64decode(manager.envelope["result"]["data_b64"]) == TOKEN.encode()


def test_output_is_stored_under_its_digest_once_the_task_has_ended(lh: Lh) -> None:
    runner = Runner(lh)
    busy = runner.start()
    assert lh.refused("tool.output_store", task_id=busy)["code"] == "CONFLICT"
    runner.append(busy, ended())
    other = printed(lh, b"report\n")
    stored = lh("tool.output_store", task_id=other)
    again = lh("tool.output_store", task_id=other)
    assert (stored["digest"], again["created"]) == (again["digest"], False)
    shown = lh("docs.artifact.show", id=stored["ref"])
    assert shown["parts"][0]["text"] == "report\n"


def test_waiting_ends_at_the_exit_at_a_line_or_at_a_port(lh: Lh) -> None:
    task_id = printed(lh, b"booting\nserver ready on 8080\n", over=False)
    line = lh("tool.task_wait", task_id=task_id, until="line", pattern="ready on *80")
    assert (line["reached"], line["line"], line["offset_bytes"]) == (
        True,
        "server ready on 8080",
        8,
    )
    none = lh("tool.task_wait", task_id=task_id, until="port", port=8080, timeout_ms=0)
    assert (none["reached"], none["timed_out"]) == (False, True)
    runner = Runner(lh)
    runner.hold()
    runner.append(task_id, {"type": "tool_task_ports", "ports": [8080]})
    assert lh("tool.task_wait", task_id=task_id, until="port", port=8080)["port"] == 8080
    runner.append(task_id, ended(exit_code=1))
    over = lh("tool.task_wait", task_id=task_id)
    assert (over["reached"], over["task"]["exit_code"]) == (True, 1)
    late = lh("tool.task_wait", task_id=task_id, until="line", pattern="never printed")
    assert (late["reached"], late["timed_out"]) == (False, False)


def test_no_pattern_can_be_used_to_guess_a_secret(lh: Lh) -> None:
    task_id = printed(lh, f"token {TOKEN}\n".encode())
    asked = {"task_id": task_id, "until": "line"}
    assert not lh("tool.task_wait", pattern=TOKEN[:20], **asked)["reached"]
    assert lh("tool.task_wait", pattern="token", **asked)["reached"]


def test_a_line_is_waited_for_as_readers_see_it(lh: Lh) -> None:
    """Secrets over many lines, one across the end of a long line, and one that is half written."""
    key = "-----BEGIN PRIVATE KEY-----\nQUJDREVG\nR0hJSktM\n-----END PRIVATE KEY-----\n"
    long = "x" * (4_096 - 10) + f" {TOKEN} wide"
    task_id = printed(lh, f"{key}{long}\nhalf {TOKEN[:12]}".encode(), over=False)
    asked = {"task_id": task_id, "until": "line", "timeout_ms": 0}
    assert not lh("tool.task_wait", pattern="R0hJ", **asked)["reached"]
    wide = lh("tool.task_wait", pattern="wide", max_chars=20_000, **asked)
    assert (wide["offset_bytes"], set(wide["line"][4_087:])) == (len(key), {"*"})
    half = lh("tool.task_wait", pattern="half", **asked)
    assert (half["line"], half["offset_bytes"]) == ("half ", len(key) + len(long) + 1)


def test_what_was_held_back_as_a_possible_secret_is_looked_at_again(lh: Lh) -> None:
    task_id = printed(lh, b"-----BEGIN CERTIFICATE-----\nQUJD\nready\n", over=False)
    asked = {"task_id": task_id, "until": "line", "pattern": "ready", "timeout_ms": 0}
    assert not lh("tool.task_wait", **asked)["reached"]
    with (folder(lh, task_id) / "stdout.log").open("ab") as log:
        log.write(b"-----END CERTIFICATE-----\n")
    found = lh("tool.task_wait", **asked)
    assert (found["line"], found["offset_bytes"]) == ("ready", 33)


def test_frames_carry_masked_text_or_a_reference(lh: Lh) -> None:
    runner = Runner(lh)
    task_id = runner.start()
    runner.append(task_id, out(0, f"a {TOKEN}\n"))
    size = len(TOKEN) + 3
    runner.append(task_id, {"type": "tool_stdout", "offset_bytes": size, "bytes": 100_000})
    frames = lh("tool.task_stream_events", task_id=task_id, after_seq=2)["frames"]
    assert (frames[0]["chunk"], frames[0]["bytes"]) == ("a " + "*" * len(TOKEN) + "\n", size)
    reference = frames[1]["artifacts"]["log"]
    assert (frames[1]["chunk"], reference["id"]) == (None, "PROC-001/stdout")
    assert (reference["offset_bytes"], reference["bytes"]) == (size, 100_000)


def test_a_search_for_a_line_goes_on_where_the_last_look_stopped(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = printed(lh, b"building\nstill " * 20_000, over=False)
    log = folder(lh, task_id) / "stdout.log"
    asked = {"task_id": task_id, "until": "line", "pattern": "ready on *", "timeout_ms": 0}
    assert not lh("tool.task_wait", **asked)["reached"]
    size = log.stat().st_size
    with log.open("ab") as file:
        file.write(b"not ready on port 80\n")
    reads = punched_while_read(monkeypatch, log, times=0)
    found = lh("tool.task_wait", **asked)
    assert (found["line"], found["offset_bytes"]) == ("still not ready on port 80", size - 6)
    around = size - 6 - LONGEST  # as far back as a secret may have begun
    assert [offset for offset, _ in reads] == [size - 6, around]


@pytest.mark.parametrize("mode", ["pipes", "pty"])
def test_a_nul_stays_a_nul_in_frames(lh: Lh, mode: str) -> None:
    runner = Runner(lh)
    task = runner.start(execution_mode=mode)
    kind = "tool_stdout" if mode == "pipes" else "tool_task_output_delta"
    coded = base64.b64encode(b"a\0b\xff").decode()
    delta = {"type": kind, "offset_bytes": 0, "bytes": 4}
    runner.append(task, {**delta, "chunk_b64": coded})
    frames = lh("tool.task_stream_events", task_id=task)["frames"]
    (told,) = [one["chunk"] for one in frames if one["type"] == kind]
    assert told == "a\0b\ufffd"
    for wrong in ({"chunk_b64": "not base64"}, {"chunk_b64": coded, "chunk": "a"}):
        refused = runner.refused(task, {**delta, "offset_bytes": 4, **wrong})
        assert "chunk_b64" in refused["message"]


def test_a_secret_beside_a_nul_is_masked_too(lh: Lh) -> None:
    runner = Runner(lh)
    task = runner.start()
    token = "ghp_" + "Zk3vQ9xW1bT7yR5mL8pN2cD4fG6hJ0sA3u5X"
    raw = f"\0 {token} \0".encode()
    coded = base64.b64encode(raw).decode()
    runner.append(
        task, {"type": "tool_stdout", "offset_bytes": 0, "bytes": len(raw), "chunk_b64": coded}
    )
    frames = lh("tool.task_stream_events", task_id=task)["frames"]
    (told,) = [one["chunk"] for one in frames if one["type"] == "tool_stdout"]
    assert token not in told
    assert len(told) == len(raw)
