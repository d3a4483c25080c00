"""The one error tree. Each class has a stable code; its docstring is its default message.

    LonghouseError
    ├── InvalidInput            the call is wrong as written
    │   ├── UnknownTool, UnknownOp, UnknownCmd
    │   └── InvalidName
    ├── UnknownId               the call names something that does not exist
    │   └── UnknownWorkspace
    ├── Conflict                the current state does not allow it
    │   └── RevisionMismatch, MergeNotSupported
    ├── WorkspaceLocked, WorkspaceNotAllowed, ProjectGuardMismatch, ProjectNotBound
    ├── Unauthenticated, Forbidden
    ├── Unreachable             the server cannot be reached
    ├── OutcomeUnknown          the answer was lost: the call may or may not have run
    ├── TooManyRequests         this token has too many calls in flight
    └── StoreError              the store cannot do it
        ├── StoreBusy           … right now; the same call may succeed later
        ├── StoreOutOfReach     … for a program inside an agent's sandbox
        ├── StoreUnusable       … with this file; the message says how to fix it
        ├── BytesLost           … because the bytes of an artifact are gone
        └── InternalError       … because of a bug in Longhouse

Rooms add subclasses of these. The class fixes the exit code, HTTP status and retryability.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from longhouse.kernel.values import Draft, Request

__all__ = [
    "BytesLost",
    "Conflict",
    "Forbidden",
    "InternalError",
    "InvalidInput",
    "InvalidName",
    "LonghouseError",
    "MergeNotSupported",
    "OutcomeUnknown",
    "ProjectGuardMismatch",
    "ProjectNotBound",
    "ReadTooLong",
    "RevisionMismatch",
    "StoreBusy",
    "StoreError",
    "StoreOutOfReach",
    "StoreUnusable",
    "Suggestion",
    "TooManyRequests",
    "Unauthenticated",
    "UnknownCmd",
    "UnknownId",
    "UnknownOp",
    "UnknownTool",
    "UnknownWorkspace",
    "Unreachable",
    "WorkspaceLocked",
    "WorkspaceNotAllowed",
]


class Suggestion:
    """A suggested next call: the request, the reason for it, and how urgent it is.

    A request holds only what the caller said, what the store holds about exactly that object, and
    defaults. If only the caller can complete it, it is a `Draft` that names what is missing.
    `common` holds arguments that every command takes, such as `workspace` or `max_chars`. A
    `fallback` is offered only if there is no other suggestion.
    """

    __slots__ = ("action_id", "common", "fallback", "priority", "request", "why")

    def __init__(
        self,
        request: Request | Draft,
        why: str,
        *,
        priority: str = "high",
        action_id: str | None = None,
        common: Mapping[str, Any] | None = None,
        fallback: bool = False,
    ) -> None:
        self.fallback = fallback
        self.request = request
        self.why = why
        self.priority = priority
        self.action_id = action_id
        self.common = dict(common or {})


class LonghouseError(Exception):
    """Longhouse could not do that."""

    code: ClassVar[str] = "ERROR"
    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1
    retryable: bool = False
    fix: ClassVar[str | None] = None

    def __init__(
        self,
        message: str | None = None,
        *,
        recovery: str | None = None,
        suggest: Sequence[Suggestion] = (),
        hints: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.message = message or (type(self).__doc__ or "").splitlines()[0]
        self.recovery = recovery or self.fix
        self.suggest = tuple(suggest)
        self.actions: Sequence[dict[str, Any]] = ()
        """The answer's suggested next calls, as complete portal calls; filled in by clients."""
        self.hints = tuple(hints)
        super().__init__(self.message)


class InvalidInput(LonghouseError):
    """The call is not valid as written."""

    code = "INVALID_INPUT"
    status = 400
    exit_code = 2


class UnknownTool(InvalidInput):
    """There is no tool with that name."""

    code = "UNKNOWN_TOOL"
    status = 404

    def __init__(
        self,
        message: str | None = None,
        *,
        recovery: str | None = None,
        suggest: Sequence[Suggestion] = (),
        name: str = "",
    ) -> None:
        super().__init__(message, recovery=recovery, suggest=suggest)
        self.name = name


class UnknownOp(InvalidInput):
    """The tool has no such op."""

    code = "UNKNOWN_OP"
    status = 404


class UnknownCmd(InvalidInput):
    """There is no such command."""

    code = "UNKNOWN_CMD"
    status = 404


class InvalidName(InvalidInput):
    """That name is not allowed."""

    code = "INVALID_NAME"


class UnknownId(LonghouseError):
    """Nothing has that id."""

    code = "UNKNOWN_ID"
    status = 404
    exit_code = 3


class UnknownWorkspace(UnknownId):
    """No workspace was named and none is configured."""

    code = "UNKNOWN_WORKSPACE"
    status = 400
    fix = "pass workspace=<name>, or configure one with --workspace or LONGHOUSE_WORKSPACE"


class Conflict(LonghouseError):
    """The current state does not allow that."""

    code = "CONFLICT"
    status = 409
    exit_code = 4


class RevisionMismatch(Conflict):
    """It changed since you read it."""

    code = "REVISION_MISMATCH"
    fix = "read it again and repeat the call with the revision you find"


class MergeNotSupported(Conflict):
    """A branch's graph can only be merged into the branch's own base."""

    code = "MERGE_NOT_SUPPORTED"


class WorkspaceLocked(LonghouseError):
    """This server is locked to another workspace."""

    code = "WORKSPACE_LOCKED"
    status = 403
    exit_code = 5


class WorkspaceNotAllowed(LonghouseError):
    """The server or your token does not allow that workspace."""

    code = "WORKSPACE_NOT_ALLOWED"
    status = 403
    exit_code = 5


class ProjectGuardMismatch(LonghouseError):
    """That workspace belongs to another project."""

    code = "PROJECT_GUARD_MISMATCH"
    status = 409
    exit_code = 5


class ProjectNotBound(LonghouseError):
    """The work of that workspace is not done in this project."""

    code = "PROJECT_NOT_BOUND"
    status = 409
    exit_code = 5


class Unauthenticated(LonghouseError):
    """This server requires a token."""

    code = "UNAUTHENTICATED"
    status = 401
    exit_code = 5
    fix = "send `Authorization: Bearer <token>`; `longhouse token create` makes one"


class Forbidden(LonghouseError):
    """Your role may not do that.

    `ask` is who may: an agent, or `role:manager` or `role:operator`, as a message is addressed.
    """

    code = "FORBIDDEN"
    status = 403
    exit_code = 5
    ask: str | None = None

    def asking(self, to: str) -> Self:
        """The same refusal, which offers a message to the one who may."""
        self.ask = to
        return self


class Unreachable(LonghouseError):
    """The server cannot be reached."""

    code = "UNREACHABLE"
    status = 503
    exit_code = 7
    retryable = True
    fix = "check with `longhouse doctor`, start it with `longhouse up`, and repeat the call"
    sent = True
    """Whether the server may have received the call and run it."""


class OutcomeUnknown(LonghouseError):
    """The answer was lost: the call may or may not have taken effect."""

    code = "OUTCOME_UNKNOWN"
    status = 503
    exit_code = 7
    fix = (
        "check first (`status` shows the newest entry, `open` shows one record); if the call had "
        "no effect, repeat it with an idempotency_key, which makes repeating it safe"
    )

    def __init__(
        self,
        message: str | None = None,
        *,
        recovery: str | None = None,
        suggest: Sequence[Suggestion] = (),
        hints: Sequence[Mapping[str, Any]] = (),
        key: str | None = None,
    ) -> None:
        """With the idempotency `key` that the call carried, repeating it is safe."""
        if key is not None:
            self.__dict__["retryable"] = True
            recovery = recovery or f"repeat the call with idempotency_key={key}; it runs only once"
        super().__init__(message, recovery=recovery, suggest=suggest, hints=hints)


class TooManyRequests(LonghouseError):
    """This token has too many calls in flight; nothing was done."""

    code = "TOO_MANY_REQUESTS"
    status = 429
    exit_code = 6
    retryable = True
    fix = "wait for a call to finish, or for Retry-After, and repeat this one"


class ReadTooLong(LonghouseError):
    """That read takes longer than one caller may keep the server busy; it was given up."""

    code = "READ_TOO_LONG"
    status = 422
    fix = "ask for less: a smaller range, fewer files, a lower max_bytes_total"


class StoreError(LonghouseError):
    """The store could not do that; nothing was written."""

    code = "STORE_ERROR"
    status = 503
    exit_code = 6
    retryable = True
    fix = "repeat the call; if it fails again, run `longhouse doctor`"


class StoreBusy(StoreError):
    """The store is busy; nothing was written."""

    code = "STORE_BUSY"
    fix = "repeat the call in a moment"


class StoreOutOfReach(StoreError):
    """The store cannot be reached from inside an agent's sandbox."""

    code = "STORE_OUT_OF_REACH"
    retryable = False
    fix = (
        "use the Longhouse tools of your MCP client instead: status, tasks, jobs, think, docs; "
        "they run outside the sandbox"
    )


def is_full(error: OSError) -> bool:
    """Whether there was no space left: on the disk, for this user, or in a file."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class StoreUnusable(StoreError):
    """This store cannot be opened."""

    code = "STORE_UNUSABLE"
    retryable = False
    fix = "fix what the message names, or point LONGHOUSE_DIR or LONGHOUSE_DB to another store"

    @classmethod
    def refused(cls, error: OSError) -> StoreUnusable:
        """What the system refused, in plain words."""
        where = error.filename or "a file of the store"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return cls(
                f"the disk is full: {where} could not be written",
                recovery="free some space, then repeat the command; what was stored is safe",
            )
        if error.errno == errno.EROFS:
            return cls(
                f"the disk is read-only: {where} cannot be written",
                recovery="make the disk writable, or choose a store elsewhere with --dir",
            )
        if error.errno in (errno.EACCES, errno.EPERM):
            return cls(
                f"this user may not write {where}",
                recovery="check who owns it: `longhouse doctor` names what is wrong",
            )
        return cls(f"the system refused: {error}", recovery="run `longhouse doctor`")

    @classmethod
    def folder(cls, path: object, error: OSError) -> StoreUnusable:
        """For a store folder that cannot be created or written to."""
        if is_full(error):
            return cls.full(path)
        if error.errno == errno.EROFS:
            return cls.refused(OSError(error.errno, error.strerror, str(path)))
        return cls(
            f"{path} cannot be used as the store's folder: {error.strerror}",
            recovery="check the path and its permissions, or choose another with --dir",
        )

    @classmethod
    def full(cls, path: object) -> StoreUnusable:
        """For a store that cannot be made or opened because the disk has no space."""
        return cls(
            f"the disk is full: {path} cannot be written",
            recovery="free up space, or choose a folder on another disk with --dir",
        )


class BytesLost(StoreError):
    """The bytes are not there any more; repeating the call does not bring them back."""

    code = "BYTES_LOST"
    status = 410
    retryable = False
    fix = "add the same file again, or run `longhouse verify --repair --from BACKUP`"


class InternalError(StoreError):
    """Longhouse failed because of a bug; nothing was written."""

    code = "INTERNAL_ERROR"
    status = 500
    exit_code = 70
    retryable = False
    fix = "run `longhouse doctor` and report what it prints; repeating the call will not help"
