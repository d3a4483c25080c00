"""Why a job cannot run on this machine: not at all, or not just now."""

from __future__ import annotations

import errno

from longhouse.kernel.errors import LonghouseError

__all__ = ["NoRoom", "NotHere", "unable"]

_SHORT = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}


class NotHere(LonghouseError):
    """What the job needs is not on this machine."""

    code = "EXECUTOR_MISSING"


class NoRoom(NotHere):
    """The machine is short of something just now: space, files, memory."""

    code = "NO_ROOM"


def unable(what: str, error: OSError) -> NotHere:
    """The refusal that an error of the system leads to."""
    return (NoRoom if error.errno in _SHORT else NotHere)(f"{what}: {error.strerror or error}")
