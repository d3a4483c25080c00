"""What real programs did in a terminal, recorded: bash, a Python session, less and vim.

`tests/fixtures/recordings` holds what they printed through a real host, byte for byte; each `.txt`
beside a recording is the last screen of it that was not empty, as a person saw it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from longhouse.terminals import recording as rec
from longhouse.terminals.asciicast import from_asciicast, to_asciicast
from longhouse.terminals.passive import Passive
from longhouse.terminals.screen import Screen
from tests.kit import Lh
from tests.processes.kit import imported, recorded

FOLDER = Path(__file__).parent.parent / "fixtures" / "recordings"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.jsonl"))


def file_of(program: str) -> bytes:
    return (FOLDER / f"{program}.jsonl").read_bytes()


def told(data: bytes) -> list[rec.Header | rec.Event]:
    return list(rec.read(data.splitlines(keepends=True)))


def played(recording: Iterable[rec.Header | rec.Event], *, step: int | None = None) -> Screen:
    """The screen after a recording, its output fed in pieces of this size."""
    screen = Screen()
    for one in recording:
        if isinstance(one, rec.Header):
            screen = Screen(one.rows, one.cols)
        elif isinstance(one, rec.Resize):
            screen.resize(one.rows, one.cols)
        elif isinstance(one, rec.Output):
            for piece in _pieces(one.data, step):
                screen.feed(piece)
    return screen


def last_screen(recording: list[rec.Header | rec.Event]) -> str:
    """The last screen with something on it: an editor leaves an empty one behind."""
    texts = (played(recording[:end]).text() for end in range(len(recording), 0, -1))
    shown = next(text for text in texts if text.strip())
    return "\n".join(line.rstrip() for line in shown.rstrip().split("\n")) + "\n"


def _pieces(data: bytes, step: int | None) -> Iterator[bytes]:
    return (data[at : at + (step or len(data))] for at in range(0, len(data), step or len(data)))


def test_there_are_recordings_of_four_programs() -> None:
    assert PROGRAMS == ["bash", "less", "python", "vim"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_recorded_program_shows_the_screen_that_it_had(program: str) -> None:
    recording = told(file_of(program))
    assert last_screen(recording) == (FOLDER / f"{program}.txt").read_text()


@pytest.mark.proves("TTA-046")
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_replay_ends_with_an_identical_snapshot_however_it_is_cut(program: str) -> None:
    recording = told(file_of(program))
    whole = played(recording).snapshot()
    assert played(recording, step=1).snapshot() == whole
    assert played(recording, step=7).snapshot() == whole


@pytest.mark.proves("TTA-036", "TTA-037", "TTA-046")
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_that_is_taken_in_is_the_recorded_one(lh: Lh, program: str) -> None:
    data = file_of(program)
    again = recorded(lh, imported(lh, data))
    assert again == data
    assert played(told(again)).snapshot() == played(told(data)).snapshot()


@pytest.mark.proves("TTA-012", "TTA-037")
@pytest.mark.parametrize("program", PROGRAMS)
def test_who_attaches_to_a_recording_sees_the_screen_that_a_replay_ends_with(
    lh: Lh, program: str
) -> None:
    there = played(told(file_of(program)))
    shot = lh("tool.task_snapshot", task_id=imported(lh, file_of(program)))
    assert (shot["rows"], shot["cols"]) == (there.rows, there.cols)
    late = Screen(shot["rows"], shot["cols"])
    late.feed(base64.b64decode(shot["data_b64"]))
    assert (late.text(), late.cursor) == (there.text(), there.cursor)


@pytest.mark.proves("TTA-037")
@pytest.mark.parametrize("program", PROGRAMS)
def test_who_comes_in_the_middle_of_a_replay_sees_what_they_see_who_were_there(
    program: str,
) -> None:
    recording = told(file_of(program))
    for middle in range(1, len(recording), 3):
        late = played(recording[:middle])
        screen = Screen(late.rows, late.cols)
        screen.feed(late.snapshot())
        for one in recording[middle:]:
            if isinstance(one, rec.Resize):
                screen.resize(one.rows, one.cols)
            elif isinstance(one, rec.Output):
                screen.feed(one.data)
        there = played(recording)
        assert screen.text() == there.text(), middle
        assert (screen.cursor, screen.alternate) == (there.cursor, there.alternate), middle


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_asciicast_of_a_program_ends_with_the_same_screen(program: str) -> None:
    recording = told(file_of(program))
    cast = b"".join(to_asciicast(recording)).splitlines(keepends=True)
    assert played(from_asciicast(cast)).snapshot() == played(recording).snapshot()


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_viewer_is_shown_the_same_screen_without_the_questions(program: str) -> None:
    recording = told(file_of(program))
    output = b"".join(one.data for one in recording if isinstance(one, rec.Output))
    shown = Passive().feed(output)
    assert b"\x1b[6n" not in shown
    assert b"?\x07" not in shown
    asked, quiet = played(recording), Screen(24, 80)
    quiet.feed(shown)
    assert quiet.replies() == b""
    if program == "vim":
        assert asked.replies() != b""
    if not any(isinstance(one, rec.Resize) for one in recording):
        assert quiet.text() == asked.text()
