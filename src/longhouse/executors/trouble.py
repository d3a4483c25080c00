"""Why a job cannot run on this machine, permanently or for the moment."""

from __future__ import annotations

import errno

from longhouse.kernel.errors import LonghouseError

__all__ = ["NoRoom", "NotHere", "unable"]

_SHORT = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}


class NotHere(LonghouseError):
    """What the job needs is not on this machine."""

    code = "EXECUTOR_MISSING"


class NoRoom(NotHere):
    """The machine is out of something for the moment: disk space, file handles, memory."""

    code = "NO_ROOM"


def unable(what: str, error: OSError) -> NotHere:
    """The refusal for a system error: NoRoom if a resource ran out, else NotHere."""
    return (NoRoom if error.errno in _SHORT else NotHere)(f"{what}: {error.strerror or error}")
