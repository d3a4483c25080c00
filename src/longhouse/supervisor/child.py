"""One guarded child: started, given its input, read from, ended.

Its input is a file, so it can have any size and always ends. Its output is drained into bounded
captures; a grandchild that keeps the pipe open blocks nothing.
"""

from __future__ import annotations

import json
import os
import selectors
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from longhouse.config import environment_with
from longhouse.supervisor import guard, strays
from longhouse.supervisor.capture import StreamCapture
from longhouse.supervisor.types import Ended

__all__ = ["Child", "child_env"]

_OWN_SETTINGS = "LONGHOUSE_"
_GUARD = [sys.executable, "-I", "-S", guard.__file__]


def child_env(changes: Mapping[str, str]) -> dict[str, str]:
    """The user's environment with these changes, without Longhouse's own settings."""
    kept = environment_with({})
    return {k: v for k, v in kept.items() if not k.startswith(_OWN_SETTINGS)} | dict(changes)


class Child:
    """A running program, with everything it starts."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        stdin: str,
        grace_s: float,
        lease_s: float,
        stdout: StreamCapture | None = None,
        spare: Path | None = None,
    ) -> None:
        """The process that holds the lock `spare` is spared, even if the child started it."""
        self._spare = str(spare or "")
        self.stdout, self.stderr = stdout or StreamCapture(), StreamCapture()
        self._why: str | None = None
        self._lock = threading.Lock()
        self._grace_s = grace_s
        self._started = time.monotonic()
        control, self._control = os.pipe()
        self._status, status = os.pipe()
        out, out_write = os.pipe()
        err, err_write = os.pipe()
        self._out = {out: self.stdout, err: self.stderr}
        self.renew(lease_s)
        try:
            with tempfile.TemporaryFile() as file:
                file.write(stdin.encode("utf-8", "replace"))
                file.seek(0)
                self._guard = strays.start_guard(
                    [*_GUARD, str(control), str(status), str(grace_s), self._spare, *argv],
                    cwd=cwd,
                    env=dict(env),
                    stdin=file,
                    stdout=out_write,
                    stderr=err_write,
                    pass_fds=(control, status),
                    start_new_session=True,
                )
        except BaseException:
            for fd in (self._control, self._status, out, err):
                os.close(fd)
            raise
        finally:
            for fd in (control, status, out_write, err_write):
                os.close(fd)

    def renew(self, lease_s: float) -> None:
        """Let it run for `lease_s` from now; then it is ended, unless renewed again."""
        with self._lock, suppress(OSError):
            if self._control >= 0:
                os.write(self._control, f"{lease_s:.3f}\n".encode())

    def end(self, why: str) -> None:
        """Start ending the tree. Returns at once; the first reason counts."""
        with self._lock:
            self._why = self._why or why
            if self._control >= 0:
                os.close(self._control)
                self._control = -1

    def wait(self, until: float) -> Ended:
        """Wait until it and all its descendants have ended; at `until` (monotonic), end it
        with the reason `slice`."""
        report = b""
        with selectors.DefaultSelector() as ready:
            ready.register(self._status, selectors.EVENT_READ)
            for fd in self._out:
                os.set_blocking(fd, False)
                ready.register(fd, selectors.EVENT_READ)
            over = False
            while not over:
                timeout = None if self._why else until - time.monotonic()
                for key, _ in ready.select(None if timeout is None else max(0.0, timeout)):
                    if key.fd != self._status:
                        self._drain(key.fd, ready)
                    elif data := os.read(self._status, 65536):
                        report += data
                    else:
                        over = True
                if self._why is None and time.monotonic() >= until:
                    self.end("slice")
            for fd in self._out:
                self._drain(fd, None)
        return self._ended(report)

    def _drain(self, fd: int, ready: selectors.BaseSelector | None) -> None:
        """Read what is available, up to a bound in case the stream is endless."""
        for _ in range(64):
            try:
                data = os.read(fd, 65536)
            except BlockingIOError:
                return
            if not data:
                if ready is not None:
                    ready.unregister(fd)
                return
            self._out[fd].feed(data)

    def _ended(self, report: bytes) -> Ended:
        strays.collect_guard(self._guard)
        self.end("exit")
        for fd in (self._status, *self._out):
            os.close(fd)
        seconds = time.monotonic() - self._started
        try:
            said = json.loads(report)
        except ValueError:
            killed, left = strays.end_strays(self._grace_s, self._spare)
            return Ended(
                "lost",
                None,
                None,
                self.stdout,
                self.stderr,
                seconds,
                killed,
                tuple(left),
                error="the child's guard was killed",
            )
        why = said["why"]
        if why in ("asked", "signal"):
            why = self._why or "signal"
        return Ended(
            why,
            said.get("code"),
            said.get("signal"),
            self.stdout,
            self.stderr,
            seconds,
            said.get("killed", 0),
            tuple(said.get("left", ())),
            said.get("error"),
        )
