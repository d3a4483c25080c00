"""`python -P -m longhouse.runner.host FOLDER READY [SPARE]`: serve a folder as a detached process.

The started process exits at once; its child leads its own session and continues. If another host
already holds the folder's lock, it exits. It writes `ready` to the descriptor READY, and never ends
the process that holds the lock SPARE: the store's server.
"""

from __future__ import annotations

import fcntl
import os
import sys
import traceback
from pathlib import Path

from longhouse.kernel.private_files import open_private
from longhouse.runner.host.holder import LOCK, name_holder
from longhouse.runner.host.loop import Host, own_processes
from longhouse.runner.host.trouble import note, open_log

__all__ = ["main"]


def main(folder: Path, ready: int, spare: str) -> None:
    """Serve the folder until there is nothing to do."""
    os.setsid()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.chdir(folder)  # the full path may be too long for a socket
    lock = open_private(Path(LOCK), os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.write(ready, b"ready\n")  # another host is serving
        return
    name_holder(lock)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    open_log()
    try:
        host = Host(Path(), own_processes(), spare=spare)
        note(f"serves {host.name}")
        os.write(ready, b"ready\n")
        os.close(ready)
        host.run()
        note("leaves")
    except BaseException:
        note(f"dies\n{traceback.format_exc()}")
        raise


if __name__ == "__main__":
    if os.fork() == 0:
        main(Path(sys.argv[1]), int(sys.argv[2]), "".join(sys.argv[3:]))
    os._exit(0)
