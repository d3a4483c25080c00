"""The runner's client for the host of its workspace; starts a host if none is running.

Any number of runners may connect. The next request after a host was killed starts a new one.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from longhouse.config import environment_with
from longhouse.runner.host.door import SOCKET
from longhouse.runner.host.trees import MARK
from longhouse.supervisor import start_apart

__all__ = ["HostClient", "HostUnavailable", "running_host"]

TIMEOUT_S = 30.0
START_S = 30.0
"""How long a new host may need until it serves; it takes tasks back first."""


class HostUnavailable(OSError):
    """The process host of this workspace could not be started or reached; the text says why."""


class HostClient:
    """Requests to the host of one folder; threads may share it."""

    def __init__(self, folder: Path, *, spare: Path | None = None) -> None:
        """The process that holds the lock `spare` survives the task that started it."""
        self._folder = folder
        self._spare = spare
        self._lock = threading.Lock()
        self._line: _Line | None = None

    def ask(self, do: str, /, **args: Any) -> dict[str, Any]:
        """The host's answer. If the host is gone, it is started again and asked once more."""
        with self._lock:
            for fresh in (False, True):
                try:
                    self._line = self._line or self.connect()
                    return self._line.ask({"do": do, **args})
                except OSError as error:
                    if self._line is not None:
                        self._line.close()
                        self._line = None
                    if fresh:
                        raise HostUnavailable(f"lost the process host: {error}") from error
        raise AssertionError

    def watch(self) -> Iterator[str]:
        """The names of tasks whose journals grow, after one empty name; ends with the host."""
        line = self.connect()
        try:
            line.ask({"do": "watch"})
            yield ""
            line.wait_for_ever()
            while True:
                said = line.hear()
                if "grown" in said:
                    yield said["grown"]
        except OSError:
            return
        finally:
            line.close()

    def connect(self) -> _Line:
        """A connection to the host, which is started if necessary."""
        with suppress(OSError):
            return _Line(self._folder)
        self._start()
        return _Line(self._folder)

    def close(self) -> None:
        """Close the connection; a thread that still waits for an answer on it gets none."""
        if self._lock.acquire(blocking=False):
            try:
                if self._line is not None:
                    self._line.close()
                    self._line = None
            finally:
                self._lock.release()
        elif (line := self._line) is not None:
            line.hang_up()

    def _start(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        ready, told = os.pipe()
        argv = [sys.executable, "-P", "-m", "longhouse.runner.host", str(self._folder), str(told)]
        env = environment_with({})
        env.pop(MARK, None)  # the runner may itself have been started by a task
        try:
            start_apart(
                [*argv, str(self._spare or "")],
                cwd="/",
                env=env,
                stdin=subprocess.DEVNULL,
                pass_fds=(told,),
                start_new_session=True,
                timeout=START_S,
            )
            os.close(told)
            told = -1
            if not _is_ready(ready):
                raise HostUnavailable(f"it did not start; see its log {self._folder / 'host.log'}")
        except subprocess.TimeoutExpired as error:
            raise HostUnavailable(f"it did not start within {START_S:g} s") from error
        finally:
            for fd in (ready, told):
                if fd >= 0:
                    os.close(fd)


def running_host(folder: Path, timeout_s: float = TIMEOUT_S) -> dict[str, Any] | None:
    """How the host of this folder describes itself; None if none is running.

    Raises OSError if it does not answer.
    """
    try:
        line = _Line(folder, timeout_s)
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    try:
        return line.ask({"do": "list"})
    finally:
        line.close()


def _is_ready(ready: int) -> bool:
    """Whether the new host says so in time; one that stands still never does."""
    look = select.poll()
    look.register(ready, select.POLLIN)
    return bool(look.poll(START_S * 1000)) and os.read(ready, 64) == b"ready\n"


class _Line:
    """One connection with JSON lines in both directions."""

    def __init__(self, folder: Path, timeout_s: float = TIMEOUT_S) -> None:
        at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # Through the open folder, since its path may be too long for a socket.
            self._socket.settimeout(timeout_s)
            self._socket.connect(f"/proc/self/fd/{at}/{SOCKET}")
        except BaseException:
            self._socket.close()
            raise
        finally:
            os.close(at)
        self._heard = self._socket.makefile("rb")

    def ask(self, what: dict[str, Any]) -> dict[str, Any]:
        self._socket.sendall(json.dumps(what).encode() + b"\n")
        return self.hear()

    def hear(self) -> dict[str, Any]:
        line = self._heard.readline()
        if not line:
            raise ConnectionResetError("the process host is gone")
        said: dict[str, Any] = json.loads(line)
        return said

    def wait_for_ever(self) -> None:
        self._socket.settimeout(None)

    def hang_up(self) -> None:
        """End it for whoever waits on it, and who closes it then."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._heard.close()
        self._socket.close()
