"""Converts request values to calls and answers to result values, using the registry."""

from __future__ import annotations

import typing
from functools import cache
from typing import Any, TypedDict, TypeVar

import msgspec

from longhouse.house import registry as build_registry
from longhouse.kernel.errors import InternalError, InvalidInput
from longhouse.kernel.registry import Registry
from longhouse.kernel.values import Request, Result
from longhouse.store.tx import LogRow

__all__ = ["CallOptions", "call_of", "result_of", "row_of"]

R = TypeVar("R", bound=Result)


class CallOptions(TypedDict, total=False):
    """The options every call takes in addition to its own arguments."""

    workspace: str
    agent_id: str
    max_chars: int
    max_bytes: int
    budget_profile: typing.Literal["portal", "default", "audit"]
    idempotency_key: str


@cache
def commands() -> Registry:
    return build_registry()


def call_of(request: Request[R], options: CallOptions) -> tuple[str, dict[str, Any]]:
    """The command that a request value belongs to, and its arguments."""
    command = commands().by_request.get(type(request))
    if command is None:
        raise InvalidInput(
            f"{type(request).__name__} is not the request of any command",
            recovery="pass a request value such as longhouse.api.CreateJob(…)",
        )
    return command.cmd, {**msgspec.to_builtins(request), **options}


def result_of(request: Request[R], answer: dict[str, Any]) -> R:
    """The typed result; an answer that was trimmed to a budget still has its type."""
    command = commands().of(request)
    kind = command.result if command.result is not Result else _opened(answer)
    try:
        return msgspec.convert(answer, kind)  # type: ignore[return-value]
    except msgspec.ValidationError as error:
        raise InternalError(
            f"{command.cmd}: the answer does not fit {kind.__name__}: {error}",
            recovery="use the same version of Longhouse on both sides, or raise max_chars",
        ) from None


def _opened(answer: dict[str, Any]) -> type[Result]:
    """The result type of `open`, which depends on the `kind` of what was opened."""
    return _kinds().get(str(answer.get("kind")), Result)


@cache
def _kinds() -> dict[str, type[Result]]:
    found: dict[str, type[Result]] = {}
    for opener in commands().openers:
        kind = typing.get_type_hints(opener.resolve).get("return")
        hint = typing.get_type_hints(kind).get("kind") if kind else None
        found.update((str(name), kind) for name in typing.get_args(hint) if kind)
    return found


def row_of(row: dict[str, Any]) -> LogRow:
    """One row of the log as a value."""
    return msgspec.convert(row, LogRow)
