"""`python -P -m longhouse.runner.host FOLDER READY [SPARE]`: serve a folder as a detached process.

The started process exits at once; its child leads its own session and continues. If another host
already holds the folder's lock, it exits. It writes `ready` to the descriptor READY, and never ends
the process that holds the lock SPARE: the store's server.
"""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

from longhouse.kernel.private_files import open_private
from longhouse.runner.host.loop import Host

__all__ = ["main"]


def main(folder: Path, ready: int, spare: str) -> None:
    """Serve the folder until there is nothing to do."""
    os.setsid()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.chdir(folder)  # the full path may be too long for a socket
    lock = open_private(Path("host.lock"), os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.write(ready, b"ready\n")  # another host is serving
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    log = open_private(Path("host.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for target, source in enumerate((nothing, log, log)):
        os.dup2(source, target)
    host = Host(Path(), spare=spare)
    os.write(ready, b"ready\n")
    os.close(ready)
    host.run()


if __name__ == "__main__":
    if os.fork() == 0:
        main(Path(sys.argv[1]), int(sys.argv[2]), "".join(sys.argv[3:]))
    os._exit(0)
