"""The outcome of a call, the same from a server and from an open store: an envelope or lines.

An error that was sent as JSON becomes an exception of its own class again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from longhouse.kernel.errors import (
    Conflict,
    Forbidden,
    InternalError,
    InvalidInput,
    LonghouseError,
    StoreError,
    TooManyRequests,
    Unauthenticated,
    UnknownId,
    Unreachable,
)

if TYPE_CHECKING:
    from longhouse.client.wire import Reply
    from longhouse.kernel.envelope import Answer

__all__ = [
    "CallOutcome",
    "answer_outcome",
    "error_of",
    "lines_outcome",
    "not_ours",
    "outcome_of",
    "outcome_of_text",
]


class CallOutcome(NamedTuple):
    """One answer: its text, the envelope unless it is lines, and the error if any."""

    text: str
    envelope: dict[str, Any] | None
    error: LonghouseError | None

    def result(self) -> Any:
        """The result, or the error raised."""
        if self.error is not None:
            raise self.error
        return self.envelope["result"] if self.envelope else self.text


def outcome_of(reply: Reply) -> CallOutcome:
    """The outcome in a server's reply; anything but a Longhouse answer raises Unreachable."""
    text = reply.body.decode("utf-8", "replace")
    if reply.is_json:
        return outcome_of_text(text, near=_near(reply.status))
    return lines_outcome(text, ok=reply.status < 400, near=_near(reply.status))


def outcome_of_text(text: str, *, near: type[LonghouseError] = LonghouseError) -> CallOutcome:
    """The outcome in the text of an envelope."""
    try:
        envelope = json.loads(text)
        error = envelope.get("error")
        failed = error_of(error, envelope.get("actions"), near=near) if error else None
        if failed is None and "result" not in envelope:
            raise KeyError("result")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise not_ours() from None
    return CallOutcome(text, envelope, failed)


def lines_outcome(
    text: str, *, ok: bool, near: type[LonghouseError] = LonghouseError
) -> CallOutcome:
    """The outcome in lines; a refusal starts with `ERROR: CODE message | fix: …`."""
    if ok:
        return CallOutcome(text, None, None)
    first = text.partition("\n")[0].removeprefix("ERROR: ")
    code, _, rest = first.partition(" ")
    if not code.replace("_", "").isupper():
        raise not_ours()
    message, _, fix = rest.partition(" | fix: ")
    body = {"code": code, "message": message, "recovery": fix or None}
    return CallOutcome(text, None, error_of(body, near=near))


def answer_outcome(answer: Answer) -> CallOutcome:
    """The outcome of an answer made in this process."""
    text = answer.body().decode()
    if answer.text is not None:
        return lines_outcome(text, ok=answer.success)
    error = answer.envelope["error"]
    made = error_of(error, answer.envelope["actions"]) if error else None
    return CallOutcome(text, answer.envelope, made)


def not_ours() -> Unreachable:
    return Unreachable("a program answers at that address, but it is not a Longhouse server")


def error_of(
    body: dict[str, Any], actions: Any = None, *, near: type[LonghouseError] = LonghouseError
) -> LonghouseError:
    """The exception that an error body was made from, by its code.

    A code that is unknown here, because its room was never imported, becomes a `near` with it.
    """
    code = str(body.get("code") or InternalError.code)
    kind = _by_code(code) or near
    error = kind(str(body.get("message") or code), recovery=_text(body.get("recovery")))
    error.__dict__["code"] = code
    if isinstance(body.get("retryable"), bool):
        error.__dict__["retryable"] = body["retryable"]
    error.actions = _objects(actions)
    error.hints = tuple(_objects(body.get("hints")))
    return error


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a value of any type, since a server may send anything."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


_BY_STATUS: dict[int, type[LonghouseError]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: UnknownId,
    409: Conflict,
    429: TooManyRequests,
    500: InternalError,
    503: StoreError,
}


def _near(status: int) -> type[LonghouseError]:
    """The class in the error tree that has this status."""
    return _BY_STATUS.get(status, InvalidInput if status < 500 else InternalError)


def _by_code(code: str) -> type[LonghouseError] | None:
    """The class nearest the root that has this code, including classes added by rooms."""
    level: list[type[LonghouseError]] = [LonghouseError]
    while level:
        if found := next((kind for kind in level if kind.__dict__.get("code") == code), None):
            return found
        level = [below for kind in level for below in kind.__subclasses__()]
    return None
