"""Runs chosen tests again and again, each time in a fork of a process that collected them once.

Collecting costs seconds and a fork costs milliseconds. A fork may be told to run a broken copy of
one source file: the functions that are already loaded get the broken code, and whatever is
imported later, also by other programs, reads the file, which the caller has broken on disk.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

OUT = "build/out.txt"
HUNG_S = 30
"""A test that takes longer than this is considered hung."""
LIMIT_S = 240
"""What one request may take."""


class WarmTests:
    """The caller's side: a process in `folder` that has collected these files of tests."""

    def __init__(self, folder: Path, files: Iterable[str]) -> None:
        argv = [sys.executable, "-m", "tools.warm_tests", *sorted(set(files))]
        environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        self._process = subprocess.Popen(
            argv,
            cwd=folder,
            env=environ | {"PYTHONPATH": f"{folder.resolve() / 'src'}:{folder.resolve()}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ready = self._answer() is not None

    def failing(self, tests: Sequence[str], broken: tuple[str, str, str] | None = None) -> Any:
        """The first of these tests that fails, if any: all of them if they hang or cannot start.

        `broken` is a file, its source and its broken source. None if a fork cannot show it.
        """
        if not self.ready:
            return list(tests)
        assert self._process.stdin is not None
        print(json.dumps({"tests": tests, "broken": broken}), file=self._process.stdin, flush=True)
        answer = self._answer()
        return list(tests) if answer is None else answer["failing"]

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else None


# The process that collects.


class Loop:
    """Replaces the loop over all tests by one over requests."""

    def __init__(self, requests: Iterable[str], answers: Any) -> None:
        self.requests, self.answers = requests, answers
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)
            with Path(OUT).open("a") as out:
                out.write(f"\n{report.nodeid}\n{report.longreprtext}\n")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            return True
        items = {item.nodeid: item for item in session.items}
        functions = _functions_by_file()
        gc.freeze()
        self._say({"collected": len(items)})
        for line in self.requests:
            asked = json.loads(line)
            chosen = [items[name] for name in asked["tests"] if name in items]
            self._say({"failing": self._forked(session, chosen, asked["broken"], functions)})
        return True

    def _say(self, answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=self.answers, flush=True)

    def _forked(
        self,
        session: pytest.Session,
        items: list[pytest.Item],
        broken: Sequence[str] | None,
        functions: dict[str, list[FunctionType]],
    ) -> list[str] | None:
        temp = Path(tempfile.mkdtemp(prefix="m", dir=os.environ.get("TMPDIR")))
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reads)
            os.setpgid(0, 0)
            try:
                found = self._run(session, items, broken, functions, temp)
                os.write(writes, json.dumps(found).encode())
            finally:
                os._exit(0)
        os.close(writes)
        code = _waited(child)
        with os.fdopen(reads, "rb") as pipe:
            told = pipe.read()
        _end_what_is_left()
        shutil.rmtree(temp, ignore_errors=True)
        if code is None or not told:
            return [item.nodeid for item in items]
        failing: list[str] | None = json.loads(told)
        return failing

    def _run(
        self,
        session: pytest.Session,
        items: list[pytest.Item],
        broken: Sequence[str] | None,
        functions: dict[str, list[FunctionType]],
        temp: Path,
    ) -> list[str] | None:
        """In the fork: run the tests up to the first that fails, in folders of their own."""
        home = temp / "home"
        home.mkdir()
        os.environ |= {"PYTEST_DEBUG_TEMPROOT": str(temp), "HOME": str(home)}
        if broken is not None and not put_in(broken, functions.get(broken[0], [])):
            return None
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                session._setupstate.teardown_exact(None)
                return self.failed[:1]
        return []


def put_in(change: Sequence[str], loaded: Iterable[FunctionType]) -> bool:
    """Give the loaded functions of a file their broken code; False if some cannot take it.

    A change is the file, its source and its broken source.
    """
    file, source, broken = change
    pairs = dict(_pairs(compile(source, file, "exec"), compile(broken, file, "exec")))
    for function in loaded:
        new = pairs.get(_place(function.__code__))
        if new is None or len(new.co_freevars) != len(function.__code__.co_freevars):
            return False
        function.__code__ = new
    return True


def _pairs(old: CodeType, new: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    """Each piece of code inside the old, by its place, with what replaces it."""
    inner = [[one for one in code.co_consts if isinstance(one, CodeType)] for code in (old, new)]
    if [one.co_qualname for one in inner[0]] != [one.co_qualname for one in inner[1]]:
        return
    for was, becomes in zip(*inner, strict=True):
        yield _place(was), becomes
        yield from _pairs(was, becomes)


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _functions_by_file() -> dict[str, list[FunctionType]]:
    found: dict[str, list[FunctionType]] = {}
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and "/longhouse/" in one.__code__.co_filename:
            found.setdefault(one.__code__.co_filename, []).append(one)
    return found


def _waited(child: int) -> int | None:
    """The child's exit code; None if it had to be killed.

    Orphans of programs that tests started are children here; one that has ended must not stay.
    """
    ends = time.monotonic() + LIMIT_S
    while time.monotonic() < ends:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            return os.waitstatus_to_exitcode(status)
        if not pid:
            time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _end_what_is_left() -> None:
    """Kill the programs that tests left behind; they became children of this process.

    Only the keeper of the run's PostgreSQL server stays, for the next fork.
    """
    keeper = Path(os.environ.get("LONGHOUSE_TEST_RUN", "").partition(":")[2], "keeper")
    stays = keeper.read_text() if keeper.exists() else ""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid:
            continue
        left = set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())
        if left <= {stays}:
            return
        for one in left - {stays}:
            os.kill(int(one), signal.SIGKILL)
        time.sleep(0.005)


def main(files: list[str]) -> int:
    requests, answers = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    out = os.open(OUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for stream, to in ((0, nothing), (1, out), (2, out)):
        os.dup2(to, stream)
    subreaper = 36
    ctypes.CDLL(None).prctl(subreaper, 1, 0, 0, 0)
    quiet = ["-q", "-p", "no:cacheprovider", f"--timeout={HUNG_S}"]
    ignored = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*quiet, *ignored, *files], plugins=[Loop(requests, answers)]))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
