"""Processes that a killed guard leaves behind are ended, and no others."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import os, subprocess, sys, time
from longhouse.supervisor import strays

def sleeper(*words, **more):
    return subprocess.Popen([*words, "sleep", "300"], **more)

server = sleeper(start_new_session=True)   # started before, as the server may be
strays.adopt_strays()
git = sleeper()                            # started by the runner, in its own session
guard = strays.start_guard(["sleep", "300"], start_new_session=True)
dead = strays.start_guard(
    ["sh", "-c", "setsid sh -c 'sleep 300 & echo $!; wait' & exec env -i sleep 300"],
    start_new_session=True, stdout=subprocess.PIPE,
)
stray = int(dead.stdout.readline())
dead.kill()
strays.collect_guard(dead)
killed, left = strays.end_strays(0.2)

def ended(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True

print(ended(stray), left, [one.poll() for one in (server, git, guard)])
for one in (server, git, guard):
    one.kill()
    one.wait()
"""


def test_only_the_tree_of_the_killed_guard_is_ended() -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT], capture_output=True, text=True, timeout=60
    )
    assert ran.stdout == "True [] [None, None, None]\n", ran.stderr
