"""The screen of a task in a terminal: as text, as a snapshot, and as something to wait for."""

from __future__ import annotations

import base64
import json
import threading
from typing import Any

import pytest

from longhouse.dispatch import Caller
from longhouse.kernel.registry import Role
from longhouse.kernel.tool_tasks import task_folder
from longhouse.processes import reading, screens
from longhouse.processes.facts import ProcessFacts
from longhouse.store.artifacts.masking import masked
from longhouse.terminals.screen import LAG_BYTES, Screen
from tests.kit import Lh
from tests.processes.kit import Runner, ended

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


class Shown:
    """A task in a terminal, with its output where the host would store it."""

    def __init__(self, lh: Lh, **args: Any) -> None:
        self.lh, self.runner = lh, Runner(lh)
        self.task = self.runner.start(execution_mode="pty", args=args)
        store = lh.house.facts.of(ProcessFacts).store
        self.folder = task_folder(store, lh.house.settings.workspace or "", self.task)
        self.at = 0

    def log(self, data: bytes) -> None:
        """What the host writes into its folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "pty.log").open("ab") as file:
            file.write(data)

    def tell(self, data: bytes, *, text: bool = True) -> None:
        """What the runner reports."""
        for start in range(0, len(data), 8_192 if text else len(data)):
            part = data[start : start + 8_192] if text else data
            frame = {"type": "tool_task_output_delta", "offset_bytes": self.at, "bytes": len(part)}
            said = {"chunk": part.decode("utf-8", "replace")} if text else {}
            self.runner.append(self.task, frame | said)
            self.at += len(part)

    def show(self, data: bytes) -> None:
        self.log(data)
        self.tell(data)

    def resize(self, rows: int, cols: int) -> None:
        op = self.lh("tool.task_resize", task_id=self.task, rows=rows, cols=cols)["op_id"]
        done = {"type": "tool_task_resized", "op_id": op, "rows": rows, "cols": cols}
        self.runner.append(self.task, done)

    @property
    def screen(self) -> dict[str, Any]:
        shown: dict[str, Any] = self.lh("tool.task_status", task_id=self.task, screen=True)
        return shown["screen"]

    def snapshot(self) -> dict[str, Any]:
        return self.lh("tool.task_snapshot", task_id=self.task)


def test_a_screen_is_a_few_hundred_characters_of_text(lh: Lh) -> None:
    task = Shown(lh)
    task.show(b"$ vim\r\n\x1b[?1049h\x1b[2J\x1b[1;1Hhello \x1b[7mworld\x1b[m\x1b[24;1H:w\x1b[1;6H")
    assert task.screen == {
        "rows": 24,
        "cols": 80,
        "text": "hello world" + "\n" * 23 + ":w",
        "cursor": {"row": 0, "col": 5},
        "alternate": True,
    }
    plain = lh("tool.task_status", task_id=task.task)
    assert "screen" not in plain


def test_a_snapshot_and_the_stream_behind_it_are_what_others_saw(lh: Lh) -> None:
    task = Shown(lh, rows=5, cols=20)
    task.show(b"".join(b"line %d\r\n" % n for n in range(12)) + b"\x1b[?2004h\x1b[31mred")
    task.resize(6, 30)
    before = task.snapshot()
    assert (before["rows"], before["cols"], before["alternate"]) == (6, 30, False)
    assert before["offset"] == task.at
    task.show(b" and more\r\n")
    late = Screen(6, 30)
    late.feed(base64.b64decode(before["data_b64"]))
    late.feed(b" and more\r\n")
    assert late.text() == task.screen["text"]
    assert 2004 in late.modes
    assert [line.text for line in late.scrollback][:3] == ["line 0", "line 1", "line 2"]
    frames = lh("tool.task_stream_events", task_id=task.task, after_seq=before["seq"])["frames"]
    assert [frame["chunk"] for frame in frames] == [" and more\r\n"]


def test_a_screen_that_is_too_colourful_for_one_answer_comes_without_colours(lh: Lh) -> None:
    task = Shown(lh, rows=30, cols=120)
    task.show(b"".join(b"\x1b[38;2;%d;%d;0mx" % divmod(n, 120) for n in range(30 * 120)))
    plain = base64.b64decode(task.snapshot()["data_b64"])
    assert b"38;2;29;118" not in plain
    late = Screen(30, 120)
    late.feed(plain)
    assert late.text() == task.screen["text"] == "\n".join(["x" * 120] * 30)


def test_bytes_that_no_frame_tells_of_are_not_shown_yet(lh: Lh) -> None:
    task = Shown(lh)
    task.show(b"told")
    task.log(b" untold")
    assert (task.screen["text"], task.snapshot()["offset"]) == ("told", 4)


def test_the_screen_stays_when_the_task_has_ended(lh: Lh) -> None:
    task = Shown(lh)
    task.show(b"the last words")
    task.runner.append(task.task, ended())
    assert task.screen["text"] == "the last words"
    assert task.snapshot()["offset"] == task.at


def test_secrets_are_starred_out_of_screens_also_where_they_were_put_together(lh: Lh) -> None:
    task = Shown(lh, cols=30)
    task.show(f"a {SECRET} b\r\n".encode() + f"c {SECRET[:9]}".encode())
    task.show(b"\x1b[1m" + SECRET[9:].encode())
    assert "ghp_" not in task.screen["text"]
    assert b"ghp_" not in base64.b64decode(task.snapshot()["data_b64"])
    assert task.screen["text"].replace("\n", "").startswith(f"a {'*' * 40} b")


def test_a_secret_of_several_lines_is_starred_out_of_screens(lh: Lh) -> None:
    task = Shown(lh)
    key = b"-----BEGIN PRIVATE KEY-----\r\nMIIEvQIBADANBgkqhkiG9w0B\r\n-----END PRIVATE KEY-----"
    task.log(key)
    task.tell(key, text=False)
    assert "MIIE" not in task.screen["text"]


def test_a_screen_that_the_host_left_stands_for_the_bytes_before_it(lh: Lh) -> None:
    task = Shown(lh, rows=5, cols=20)
    task.show(b"x" * 90)
    left = Screen(5, 20)
    left.feed(b"painted once\r\n")
    head = json.dumps({"offset": 80, "rows": 5, "cols": 20}).encode()
    (task.folder / "pty.1.screen").write_bytes(head + b"\n" + left.snapshot())
    (task.folder / "pty.0.screen").write_bytes(b'{"offset": 91, "rows": 1, "cols": 1}\n')
    assert task.screen["text"] == "painted once\n" + "x" * 10
    (task.folder / "pty.1.screen").write_bytes(b"garbage\n")
    assert task.screen["text"].startswith("x" * 20)


def test_a_key_on_a_screen_that_the_host_left_is_starred_out(lh: Lh) -> None:
    """The host stores what the program drew, including secrets; viewers never see them."""
    lines = ["-----BEGIN PRIVATE KEY-----", *(f"QUJD{n:04}" for n in range(9)), "-----END KEY-----"]
    painted = "\r\n".join([*lines, "$ "]).encode()
    task = Shown(lh, rows=5, cols=40)
    task.log(painted)
    task.tell(painted, text=False)
    left = Screen(5, 40)
    left.feed(painted)
    head = json.dumps({"offset": len(painted), "rows": 5, "cols": 40}).encode()
    (task.folder / "pty.0.screen").write_bytes(head + b"\n" + left.snapshot())
    assert task.screen["text"].endswith("$")
    assert "QUJD" not in task.screen["text"]
    assert b"QUJD" not in base64.b64decode(task.snapshot()["data_b64"])


def test_of_a_flood_only_settings_are_taken_from_what_scrolled_by(lh: Lh) -> None:
    task = Shown(lh, max_bytes=0)
    flood = b"\x1b[?2004h" + b"y\r\n" * (LAG_BYTES // 2) + b"end"
    task.log(flood)
    task.tell(flood, text=False)
    assert task.screen["text"].endswith("y\nend")
    late = Screen()
    late.feed(base64.b64decode(task.snapshot()["data_b64"]))
    assert 2004 in late.modes


def test_of_a_flood_secrets_are_looked_for_only_in_what_is_shown(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Shown(lh, max_bytes=0)
    flood = b"y\r\n" * (2 * LAG_BYTES) + f"{SECRET[:9]}{SECRET[9:]}\r\nend".encode()
    task.log(flood)
    task.tell(flood, text=False)
    looked = []

    def counted(view: Any, piece: Any, *, growing: bool) -> Any:
        looked.append(len(piece.data))
        return masked(view, piece, growing=growing)

    monkeypatch.setattr(screens, "masked", counted)
    assert task.screen["text"].endswith("y\n" + "*" * len(SECRET) + "\nend")
    assert sum(looked) == LAG_BYTES


@pytest.mark.anyio
async def test_a_screen_is_emulated_in_a_thread_and_not_on_the_event_loop(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, seen = Shown(lh), []

    def spied(*args: Any) -> Any:
        seen.append(threading.current_thread())
        return screens.screen_view(*args)

    monkeypatch.setattr(reading, "screen_view", spied)
    args = {"task_id": task.task, "screen": True}
    answer = await lh.house.dispatcher.call_async("tool.task_status", args, Caller(Role.VIEWER))
    assert answer.success
    assert seen != [threading.current_thread()]


def test_without_the_hosts_folder_frames_are_the_screen_as_long_as_they_carry_text(lh: Lh) -> None:
    task = Shown(lh)
    task.tell(b"from ")
    task.resize(10, 40)
    task.tell(b"afar")
    assert (task.screen["text"], task.screen["rows"]) == ("from afar", 10)
    task.tell(b"!" * 100, text=False)
    error = lh.refused("tool.task_status", task_id=task.task, screen=True)
    assert "is only on the machine that runs it" in error["message"]
    assert "args.max_bytes" in error["recovery"]


def test_a_wait_ends_when_the_screen_shows_a_line(lh: Lh) -> None:
    task = Shown(lh)
    task.show(b"loading")
    wait = {"task_id": task.task, "until": "screen", "pattern": "*~*ready*", "timeout_ms": 0}
    assert lh("tool.task_wait", **wait)["timed_out"] is True
    task.show(b"\r\x1b[2K~ is ready")
    found = lh("tool.task_wait", **wait)
    assert (found["reached"], found["line"]) == (True, "~ is ready")
    wait["pattern"] = "loading"
    assert lh("tool.task_wait", **wait)["reached"] is False  # it was shown, and no longer is
    assert (
        "until=line" in lh.refused("tool.task_wait", task_id=task.task, until="screen")["message"]
    )


@pytest.mark.parametrize("cmd", ["tool.task_snapshot", "tool.task_status", "tool.task_wait"])
def test_a_task_without_a_terminal_has_no_screen(lh: Lh, cmd: str) -> None:
    task = Runner(lh).start()
    more = {"tool.task_status": {"screen": True}, "tool.task_snapshot": {}}.get(
        cmd, {"until": "screen", "pattern": "x"}
    )
    error = lh.refused(cmd, task_id=task, **more)
    assert (error["code"], "execution_mode=pty" in error["message"]) == ("INVALID_INPUT", True)
