"""One stream on disk: followed, hashed in the loop or in a thread, capped and sealed."""

from __future__ import annotations

import hashlib
import os
import select
import socket
from pathlib import Path

import pytest

from longhouse.runner.host import ports
from longhouse.runner.host.hashing import Hasher
from longhouse.runner.host.logs import MUCH, TURN, Log


def written(log: Log, data: bytes) -> None:
    fd = log.writer()
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
    finally:
        os.close(fd)


def follow_to_the_end(log: Log, hasher: Hasher) -> None:
    """Follow a log as the host's loop does: again whenever the hasher has finished."""
    while log.follow():
        assert select.select([hasher.ready], [], [], 30)[0], "the hasher never came to an end"
        os.read(hasher.ready, 64)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("size", [10, MUCH, MUCH + 1, TURN + MUCH + 3])
def test_a_digest_covers_all_bytes_whoever_hashes_them(tmp_path: Path, size: int) -> None:
    hasher = Hasher()
    log = Log(tmp_path, "stdout", 0, hasher)
    data = os.urandom(4_099) * (size // 4_099 + 1)
    written(log, data[:7])
    assert not log.follow()
    written(log, data[7:size])
    assert log.follow() is (size - 7 > MUCH)
    follow_to_the_end(log, hasher)
    seal = log.seal()
    assert (seal["bytes"], seal["stored"], seal["gap"]) == (size, size, None)
    assert seal["sha256"] == seal["stored_sha256"] == sha256(data[:size])
    log.close()


def test_logs_that_grow_fast_at_the_same_time_are_hashed_in_turn(tmp_path: Path) -> None:
    hasher = Hasher()
    logs = [Log(tmp_path, name, 0, hasher) for name in ("stdout", "stderr")]
    for number, log in enumerate(logs):
        written(log, bytes([number]) * (2 * TURN))
        assert log.follow()
    for number, log in enumerate(logs):
        follow_to_the_end(log, hasher)
        assert log.seal()["sha256"] == sha256(bytes([number]) * (2 * TURN))
        log.close()


def test_what_is_written_after_the_last_look_is_no_part_of_the_seal(tmp_path: Path) -> None:
    log = Log(tmp_path, "stdout", 0, Hasher())
    written(log, b"all of it\n")
    log.follow()
    written(log, b"a straggler\n")
    seal = log.seal()
    assert (seal["bytes"], seal["sha256"]) == (10, sha256(b"all of it\n"))
    log.close()


def test_a_log_that_cannot_be_read_is_told_of_and_has_no_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: object) -> int:
        raise OSError(5, "Input/output error")

    hasher = Hasher()
    log = Log(tmp_path, "stdout", 0, hasher)
    written(log, bytes(MUCH + 1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "preadv", broken)
        follow_to_the_end(log, hasher)
    seal = log.seal()
    assert (seal["sha256"], seal["trouble"]) == (None, "it could not be read: Input/output error")
    log.close()


def test_a_defect_while_one_log_is_hashed_holds_up_neither_it_nor_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: object) -> None:
        raise MemoryError("no memory")

    hasher = Hasher()
    hasher.add(broken)  # type: ignore[arg-type]
    assert select.select([hasher.ready], [], [], 30)[0], "it is told that this work is over"
    os.read(hasher.ready, 64)
    spoilt, good = (Log(tmp_path, name, 0, hasher) for name in ("stdout", "stderr"))
    written(spoilt, bytes(MUCH + 1))
    with monkeypatch.context() as patch:
        patch.setattr(spoilt, "_hash_to", broken)
        spoilt.follow()
        assert select.select([hasher.ready], [], [], 30)[0], "it is told that this log is done"
    follow_to_the_end(spoilt, hasher)
    seal = spoilt.seal()
    assert (seal["bytes"], seal["sha256"]) == (MUCH + 1, None)
    assert seal["trouble"] == "it could not be hashed: no memory"
    written(good, bytes(MUCH + 1))
    follow_to_the_end(good, hasher)
    assert good.seal()["sha256"] == sha256(bytes(MUCH + 1))


def test_a_log_that_the_loop_takes_up_again_is_not_with_the_hasher_twice(tmp_path: Path) -> None:
    class Eager(Log):
        """The loop follows the log at the moment the hasher releases it."""

        @property
        def _beside(self) -> bool:
            return self.__dict__["beside"]

        @_beside.setter
        def _beside(self, value: bool) -> None:
            was, self.__dict__["beside"] = self.__dict__.get("beside", False), value
            if was and not value:
                self.__dict__["beside"] = True

    log = Eager(tmp_path, "stdout", 0, Hasher())
    written(log, b"all of it\n")
    log._beside = True
    assert log._take_turn(memoryview(bytearray(64))) is False
    log.close()


def test_who_listens_is_known_also_where_the_kernel_is_not_to_be_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    four, six = socket.socket(), socket.socket(socket.AF_INET6)
    client = socket.socket()
    with four, six, client:
        four.bind(("127.0.0.1", 0))
        six.bind(("::1", 0))
        for one in (four, six):
            one.listen()
        client.connect(four.getsockname())
        mine = {"us": {os.getpid()}}
        asked = (ports.Ports().look(mine) or {})["us"]
        assert {four.getsockname()[1], six.getsockname()[1]} <= set(asked)
        assert client.getsockname()[1] not in asked
        monkeypatch.setattr(ports, "_DIAG", 99)
        assert (ports.Ports().look(mine) or {})["us"] == asked
