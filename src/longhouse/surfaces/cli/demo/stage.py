"""The throwaway store: a folder, a server and runners, all removed when the demo ends.

It ignores the user's own settings, so it can never touch a real store.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import longhouse
from longhouse.api import CancelTask, ListTasks
from longhouse.client import launch, locate
from longhouse.config import environment_with, own_argv
from longhouse.git import FAILED, Repository
from longhouse.kernel.errors import LonghouseError

__all__ = ["Stage"]

WORKSPACE = "demo"
AGENT = "longhouse.surfaces.cli.demo.agent"
HEARTBEAT_MS = (1_000, 5_000)
START_S = 45.0
END_S = 15.0
LOOK_S = 0.05
LEXER = "def words(text):\n    return text.expandtabs().split()\n"
_PROMPT = r"""
printf '\033[1mAsk the index\033[0m, or press Ctrl-D to quit.\nsearch> '
while read -r words; do
    printf '\033[32m%s\033[0m hits for \033[1m%s\033[0m\nsearch> ' ${#words} "$words"
done
"""


class Stage:
    """A store and its server; `second` is the time of day, which passes at `speed`."""

    def __init__(self, speed: int, *, port: int = 0) -> None:
        self.speed = speed
        self.folder = Path(tempfile.mkdtemp(prefix="longhouse-demo-"))
        self.store = self.folder / ".longhouse"
        self.project = self.folder / "project"
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        try:
            self.has_git = self._begin_project()
            self.url = self._serve(port)
            self.token = locate.token_of(self.store) or ""
            self.client = longhouse.connect(self.url, token=self.token, workspace=WORKSPACE)
            self._program = self._write_program()
        except BaseException:
            self._take_down()
            raise
        self._began = time.monotonic()

    @property
    def sign_in_url(self) -> str:
        """The page's address including the token; show it only on a terminal."""
        return f"{self.url}/#token={self.token}"

    @property
    def second(self) -> float:
        return (time.monotonic() - self._began) * self.speed

    def until(self, second: float) -> None:
        """Wait until that second of the day."""
        time.sleep(max(0.0, (second - self.second) / self.speed))

    def start_runner(self, name: str) -> None:
        heartbeat = min(max(5_000 // self.speed, HEARTBEAT_MS[0]), HEARTBEAT_MS[1])
        flags = {
            "runner-id": name,
            "root": str(self.project),
            "codex-bin": str(self._program),
            "heartbeat-ms": str(heartbeat),
            "drain-s": "0",
            "server-start-s": "0",
        }
        self._start(name, "runner", "--attach", *_words(flags))

    def kill_runner(self, name: str) -> None:
        """Kill it as a power failure would: it reports nothing and returns nothing."""
        child = self._children.pop(name)
        child.kill()
        child.wait()

    def _serve(self, port: int) -> str:
        server = self._start(
            "server", "serve", "--port", str(port), "--log-to-file", "--no-runner-autostart"
        )
        ends = time.monotonic() + START_S
        while not (running := launch.alive(self.store)):
            if server.poll() is not None or time.monotonic() > ends:
                raise launch.ServerFailed(
                    f"the demo's server did not start: {_last_words(self.folder)}",
                    recovery="check this machine: longhouse doctor",
                )
            time.sleep(LOOK_S)
        return running.url

    def _start(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        own = {"dir": str(self.store), "db": str(self.store / "demo.db"), "workspace": WORKSPACE}
        scratch = self.folder / "tmp"  # a killed runner's leftovers are removed with the folder
        scratch.mkdir(exist_ok=True)
        given = environment_with({"TMPDIR": str(scratch), "XDG_CACHE_HOME": str(scratch)}).items()
        mine = {name: value for name, value in given if not name.startswith("LONGHOUSE_")}
        with (self.folder / f"{name}.err").open("w") as errors:
            child = subprocess.Popen(
                own_argv(*words, *_words(own)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=mine,
                cwd=self.project,  # where the work of the store is done
                start_new_session=True,
            )
        self._children[name] = child
        return child

    def _begin_project(self) -> bool:
        """Create the files the team works on, as a git repository if git is installed."""
        lexer = self.project / "src" / "parser" / "lexer.py"
        lexer.parent.mkdir(parents=True)
        lexer.write_text(LEXER)
        project = Repository(self.project / ".git", self.project)
        named = ("-c", "user.name=Demo", "-c", "user.email=demo@localhost")
        try:
            project.git("init", "--quiet")
            project.git("add", "--all")
            project.git(*named, "commit", "--quiet", "--message", "Begin")
        except FAILED:
            return False
        return True

    def write_process(self) -> Path:
        """A program that keeps printing, and exits once this folder is gone."""
        return self._write(
            "answer-queries",
            f"cd {shlex.quote(str(self.folder))}\nn=0\nwhile [ -f answer-queries ]; do\n"
            'n=$((n+1)); echo "$n queries answered"; sleep 1\ndone\n',
        )

    def write_prompt(self) -> Path:
        """A program that answers what is typed into its terminal, until end of input."""
        return self._write("try-search", _PROMPT)

    def _write_program(self) -> Path:
        """The program that the runners start as the coding agent."""
        argv = shlex.join([sys.executable, "-P", "-m", AGENT, str(self.speed)])
        return self._write("scripted-agent", f'exec {argv} "$@"\n')

    def _write(self, name: str, lines: str) -> Path:
        program = self.folder / name
        program.write_text(f"#!/bin/sh\n{lines}")
        program.chmod(0o700)
        return program

    def _end_processes(self) -> None:
        """Stop background processes while there is still a runner to do it."""
        ends = time.monotonic() + END_S
        with suppress(LonghouseError):
            while len(self._children) > 1 and time.monotonic() < ends:
                active = self.client(ListTasks(status="active")).tasks
                if not active:
                    return
                for task in active:
                    self.client(CancelTask(task_id=task.task_id))
                time.sleep(LOOK_S)

    def _take_down(self) -> None:
        """Stop the runners, then the server; kill whatever does not exit in time."""
        for name in sorted(self._children, key=lambda name: name == "server"):
            child = self._children.pop(name)
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGTERM)
            try:
                child.wait(END_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        try:
            self._end_processes()
        finally:
            self.client.close()
            self._take_down()


def _words(flags: dict[str, str]) -> list[str]:
    return [word for name, value in flags.items() for word in (f"--{name}", value)]


def _last_words(folder: Path) -> str:
    said = (folder / "server.err").read_text(errors="replace").strip()
    return said.splitlines()[-1] if said else "no error message"
