"""The attacker's file is replayed, and wants to run something or to type into the victim's shell.

The victim has a real terminal. A terminal answers questions that are shown to it, as if its owner
had typed the answer; a recording may claim any command, any exit code and any control sequence.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from longhouse.kernel.opening import proves
from longhouse.terminals import recording as rec
from tests.kit import Lh
from tests.processes.kit import Runner, ended, imported
from tests.surfaces.cli.person import Person, at_longhouse
from tests.terminals.test_passive import ASKING

COMMAND = "touch owned; $(touch owned); `touch owned`"
TYPED = b"touch owned\r"
WATCHED = """
import sys
def audit(event, args):
    if event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork",
                 "os.forkpty", "pty.spawn"):
        open("programs", "a").write(f"{event} {args}\\n")
sys.addaudithook(audit)
from longhouse.surfaces.cli import main
sys.exit(main(sys.argv[1:]))
"""


def hostile() -> bytes:
    """A recording full of questions, of sequences that never end and of lies."""
    shown = b"".join(ASKING.values())
    shown += b"\x1b]0;" + COMMAND.encode() + b"\x07\x1b[21t"  # a title, and tell me the title
    shown += b"\x1bP1$r" + TYPED + b"\x1b\\\x1b[?1002;1004h\x1b[?1049h" + b"\x1b[6" + b"\xc2\x9b6n"
    totals, events = rec.Totals("pty"), list(rec.pieces(5, "pty", 0, shown + b"\x1b]52;c;"))
    for event in events:
        totals.take(event)
    lines: list[rec.Header | rec.Event] = []
    end = rec.End(at=1_500, status="exited", exit_code=0, streams=totals.ends())
    head = rec.Header(version=1, mode="pty", tool="bash", command=COMMAND, title=COMMAND)
    lines += [head, *events, end]
    return b"".join(map(rec.encoded, lines))


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Person]:
    (tmp_path / ".longhouse").mkdir(mode=0o700)
    (tmp_path / "gift.jsonl").write_bytes(hostile())
    watched = [sys.executable, "-P", "-c", WATCHED]
    person = at_longhouse(tmp_path, "replay", "gift.jsonl", argv=watched)
    yield person
    person.close()


def test_a_replay_runs_nothing_asks_nothing_and_types_nothing(
    victim: Person, tmp_path: Path
) -> None:
    victim.sees(b"\x1b[?1049h")  # it is being shown
    victim.type(TYPED)  # what a terminal would answer, at worst
    assert victim.leaves() == 0
    assert not (tmp_path / "programs").exists()
    assert not (tmp_path / "owned").exists()
    for asked in ASKING.values():
        assert asked not in victim.seen
    assert b"\x1b[6n" not in victim.seen
    assert b"\x1b[21t" not in victim.seen
    assert b"\x1b[?1049l" in victim.seen
    assert victim.is_as_before
    os.set_blocking(victim.slave, False)
    with pytest.raises(BlockingIOError):  # nothing is left for the shell to read
        os.read(victim.slave, 100)


@pytest.mark.proves("TTA-036")
def test_an_imported_recording_is_never_started_and_proves_nothing(lh: Lh) -> None:
    task_id = imported(lh, hostile())
    runner = Runner(lh)
    assert runner.claim() == []
    assert runner.hold()["tasks"] == []
    assert runner.watch()["waiting"] == 0
    opened = lh("open", id=task_id)
    assert (opened["task"]["status"], opened["task"]["exit_code"]) == ("exited", 0)
    real = runner.start()
    runner.append(real, ended())
    assert proves_something(lh, real)
    assert not proves_something(lh, task_id)


def proves_something(lh: Lh, ref: str) -> bool:
    found: bool = lh.house.db.read("acme", lambda tx: proves(tx, ref), lh.house._call())
    return found
