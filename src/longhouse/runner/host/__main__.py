"""`python -P -m longhouse.runner.host FOLDER READY [SPARE]`: serve a folder as nobody's child.

The process that was started leaves at once; the one that goes on leads a session of its own. Of two
that serve the same folder the second leaves: the first holds the lock. It says `ready` on the
descriptor READY, and never ends who holds the lock SPARE: the store's server.
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
    os.chdir(folder)  # the path of a socket may be longer than the system allows
    lock = open_private(Path("host.lock"), os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.write(ready, b"ready\n")  # another one is
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
