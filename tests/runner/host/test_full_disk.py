"""A disk that is really full: a small file system, filled by a task."""

from __future__ import annotations

import base64
import hashlib
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.runner.host.kit import Hosted, lives
from tests.runner.processes import until

SIZE = 6 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of six megabytes, if this user may mount one."""
    place = tmp_path / "small"
    place.mkdir()
    size = f"size={SIZE},mode=0700"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", place], check=False)
    if mounted.returncode:
        pytest.skip("this user cannot mount a small disk")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


@pytest.fixture
def host(small_disk: Path) -> Iterator[Hosted]:
    made = Hosted(small_disk)
    yield made
    made.close()


def test_a_task_that_fills_the_disk_ends_with_every_byte_that_fitted_and_its_digest(
    host: Hosted, tmp_path: Path
) -> None:
    bystander = host.bash(f"until [ -e {tmp_path}/full ]; do sleep 0.02; done; exit 4")
    task = host.bash("yes a line of output || exit 7", cap_bytes=0)
    ended = host.ended(task)
    assert (ended["code"], ended["cause"]) == (7, None)
    out, log = ended["streams"]["stdout"], host.log(task)
    assert (out["bytes"], out["stored"]) == (len(log), len(log))
    assert out["sha256"] == hashlib.sha256(log).hexdigest()
    assert len(log) > SIZE // 2
    (tmp_path / "full").touch()
    assert host.ended(bystander)["code"] == 4


def test_a_terminal_that_fills_the_disk_says_what_is_missing_and_ends_nothing(
    host: Hosted, tmp_path: Path
) -> None:
    bystander = host.bash(f"until [ -e {tmp_path}/full ]; do sleep 0.02; done; exit 4")
    script = f"head -c {2 * SIZE} /dev/zero | tr '\\0' x; exit 7"
    ballast = host.root / "ballast"
    ballast.write_bytes(bytes(1 << 18))
    task = host.bash(script, cap_bytes=0, mode="pty", rows=24, cols=80)
    until(lambda: not lives(host.started(task)["pid"]), "it has ended")
    ballast.unlink()  # its end can still be recorded
    ended = host.ended(task)
    assert ended["code"] == 7
    said = "some output could not be stored: No space left on device"
    assert ended["streams"]["pty"]["trouble"] == said
    assert ended["streams"]["pty"]["bytes"] == len(host.log(task, "pty"))
    (tmp_path / "full").touch()
    assert host.ended(bystander)["code"] == 4


def test_a_key_that_the_full_disk_kept_from_being_recorded_is_typed_once(
    host: Hosted, tmp_path: Path
) -> None:
    read = f"stty -icanon -echo; touch {tmp_path}/ready; exec cat > {tmp_path}/read"
    task = host.bash(read, mode="pty", rows=24, cols=80)
    until((tmp_path / "ready").exists, "it reads")
    ballast = host.root / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))

    def typed(n: int) -> dict[str, Any]:
        chunk = base64.b64encode(f"{n},".encode()).decode()
        asked = {"task": task, "op": "stdin", "op_id": f"{task}.{n}", "chunk_b64": chunk}
        return host.client.ask("control", **asked)

    keys = 0
    while "error" not in typed(keys):  # what the journal has reserved is used up first
        keys += 1
    for _ in range(3):
        assert "No space left on device" in typed(keys)["error"]
    ballast.unlink()
    assert typed(keys)["op"] == typed(keys)["op"]
    wanted = "".join(f"{n}," for n in range(keys + 1))
    until(lambda: (tmp_path / "read").read_text() >= wanted, "it has read all")
    assert (tmp_path / "read").read_text() == wanted
    records = [one["op_id"] for one in host.records(task) if one["kind"] == "op"]
    assert records == [f"{task}.{n}" for n in range(keys + 1)]
    host.cancel(task, f"{task}.end")
    host.ended(task)


def test_while_the_disk_is_full_a_start_is_refused_with_the_reason_and_later_works(
    host: Hosted,
) -> None:
    first = host.bash("yes a line of output", cap_bytes=0)
    host.ended(first)
    refused = host.ask("true", cap_bytes=0)
    assert "No space left on device" in refused["error"]
    (host.folder / first / "stdout.log").unlink()
    assert host.ended(host.spawn("true", cap_bytes=0))["code"] == 0
