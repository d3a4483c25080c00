"""The base classes of every value that crosses a surface.

Requests and results are immutable. A field without a default is always in the answer; a field with
one is omitted while it has its default value.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Generic

import msgspec
from msgspec import Meta

if TYPE_CHECKING:  # Python 3.13 added defaults for type variables; only checkers need them
    from typing_extensions import TypeVar

    ResultT = TypeVar("ResultT", bound="Result", default="Result", covariant=True)
else:
    from typing import TypeVar

    ResultT = TypeVar("ResultT")

__all__ = [
    "ANY_TEXT",
    "AsOf",
    "Draft",
    "Json",
    "Limit",
    "PastRequest",
    "Request",
    "Result",
    "Seq",
    "Text",
    "Title",
    "Value",
    "agree",
    "kind_of",
    "only",
]

Json = dict[str, Any]
"""A JSON object supplied by the caller and stored unchanged."""

ANY_TEXT = r"[\s\S]"
"""The pattern of a text that may be only white space, or whose room judges that itself."""
Title = Annotated[str, Meta(min_length=1, max_length=200)]
Text = Annotated[str, Meta(min_length=1, max_length=1_000_000)]
Limit = Annotated[int, Meta(ge=1, le=500)]
AsOf = Annotated[int, Meta(ge=0, le=2**53, description="read the state as of this seq")]
Seq = Annotated[int, Meta(ge=0, le=2**53)]


class Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Anything stored or sent as a unit."""


class Request(Value, Generic[ResultT], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of one command; the SDK identifies the command by the class.

    `class CreateJob(Request["JobMoved"], …)` tells type checkers what the SDK returns for it; the
    registry checks that it matches the handler's annotation.
    """


class PastRequest(Request[ResultT], frozen=True, kw_only=True):
    """A read that can also be answered as of an earlier seq.

    Its handler then runs in a transaction that sees the tables of all rooms as they were.
    """

    as_of: AsOf | None = None


class Draft:
    """A call that lacks something which only the caller can say, or whose type need not be loaded.

    `kind` is the type of the request, or the name of the command. `given` holds the known arguments
    as built-in values. `missing` names the others, with a dot inside an object (`card.text`). A
    value is never made up to complete a call.
    """

    __slots__ = ("given", "kind", "missing")

    def __init__(
        self, kind: type[Request] | str, given: Mapping[str, Any], missing: Iterable[str] = ()
    ) -> None:
        self.kind = kind
        self.given = dict(given)
        self.missing = tuple(missing)


def kind_of(request: Request | Draft) -> type[Request] | str:
    """What identifies the command of a complete or an unfinished call: its type, or its name."""
    return request.kind if isinstance(request, Draft) else type(request)


class Result(Value, frozen=True, kw_only=True):
    """The result of one command, before budgets and redaction."""


def only(hints: dict[str, Any], kind: type, cmd: str, what: str) -> Any:
    """The single class of that kind among the annotations, including members of unions."""
    parts = [part for hint in hints.values() for part in _parts(hint)]
    found = [part for part in parts if isinstance(part, type) and issubclass(part, kind)]
    if what == "request" and len(found) > 1:
        found = found[:1]
    if len(found) != 1:
        raise TypeError(f"{cmd}: its handler must name exactly one {what} type")
    return found[0]


def _parts(hint: Any) -> list[Any]:
    """The plain types that make up an annotation."""
    inner = typing.get_args(hint)
    return [part for one in inner for part in _parts(one)] if inner else [hint]


def agree(cmd: str, request: type[Request], result: type[Result]) -> None:
    """Check that a request which names its result (`Request["JobMoved"]`) names the handler's."""
    for base in request.__dict__.get("__orig_bases__", ()):
        for named in typing.get_args(base):
            name = getattr(named, "__forward_arg__", None) or getattr(named, "__name__", named)
            if name != result.__name__:
                raise TypeError(f"{cmd}: the request names {name}, the handler {result.__name__}")
