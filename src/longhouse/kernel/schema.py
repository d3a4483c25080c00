"""JSON schemas of requests and results, and the arguments that every command takes beside its own.

One place says which common arguments exist, so that the MCP tools, OpenAPI, `system.schema.get`
and the decoder can never disagree.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.registry import Command, nearest
from longhouse.kernel.values import Request, Value

__all__ = ["Common", "args_schema", "decode", "split_common"]

_Positive = Annotated[int, Meta(ge=0, le=10_000_000)]


class Common(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every command takes beside its own arguments."""

    workspace: Annotated[str, Meta(description="defaults to the configured workspace")] | None = (
        None
    )
    agent_id: Annotated[str, Meta(max_length=64, description="who acts, for the record")] | None = (
        None
    )
    max_chars: _Positive | None = None
    context_budget: Annotated[int, Meta(ge=0, description="alias of max_chars")] | None = None
    max_bytes: _Positive | None = None
    max_lines: _Positive | None = None
    fmt: Literal["json", "lines"] = "json"
    budget_profile: Literal["portal", "default", "audit"] | None = None
    idempotency_key: (
        Annotated[str, Meta(min_length=1, max_length=200, description="repeat safely")] | None
    ) = None


_COMMON = tuple(Common.__struct_fields__)


def split_common(command: Command, args: dict[str, Any]) -> tuple[dict[str, Any], Common]:
    """The command's own arguments, and the common ones (an own field of that name wins)."""
    own_names = command.fields()
    own: dict[str, Any] = {}
    common: dict[str, Any] = {}
    for name, item in args.items():
        if name in _COMMON and name not in own_names:
            if item is not None:
                common[name] = item
        else:
            own[name] = item
    if "idempotency_key" in common and not command.writes:
        raise InvalidInput("idempotency_key: only a write takes one", recovery="leave it out")
    return own, _convert(common, Common, _COMMON)


def decode(command: Command, args: dict[str, Any]) -> Request:
    """The request value, or InvalidInput that names the field and what to write instead."""
    required = _required(command.request)
    given = {k: v for k, v in args.items() if v is not None or k in required}
    request: Request = _convert(
        given, command.request, (*command.fields(), *_COMMON), command.example
    )
    return request


def _convert(
    given: dict[str, Any], kind: type[Any], known: tuple[str, ...], example: Any = None
) -> Any:
    for name in given:
        if name not in kind.__struct_encode_fields__:
            near = nearest(str(name), known)
            raise InvalidInput(
                f"{name}: unknown argument" + (f"; did you mean {near!r}?" if near else ""),
                recovery=f"use {near}=…" if near else f"known arguments: {', '.join(known)}",
            )
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise _explain(error, example) from None
    except (RecursionError, OverflowError, ValueError) as error:
        raise InvalidInput(f"args: not usable ({type(error).__name__})") from None


def _explain(error: msgspec.ValidationError, example: Any) -> InvalidInput:
    """`field: expected shape; fix: field=example` from what the decoder found."""
    text = str(error)
    what, _, where = text.partition(" - at `$")
    field = where.rstrip("`").lstrip(".") or ""
    if what.startswith("Object missing required field"):
        missing = what.split("`")[1]
        field, what = ".".join(filter(None, (field, missing))), "missing"
    elif what.startswith("Object contains unknown field"):
        stranger = what.split("`")[1]
        field, what = ".".join(filter(None, (field, stranger))), "unknown argument"
    shown = msgspec.to_builtins(example) if example is not None else {}
    top = field.partition(".")[0].partition("[")[0]
    sample = f"; fix: {top}={msgspec.json.encode(shown[top]).decode()}" if top in shown else ""
    what = what[:1].lower() + what[1:]
    return InvalidInput(f"{field or 'args'}: {what}{sample}", recovery=f"correct {top or 'args'}")


def _required(kind: type[Request]) -> frozenset[str]:
    return frozenset(f.encode_name for f in msgspec.structs.fields(kind) if f.required)


@cache
def args_schema(command: Command) -> dict[str, Any]:
    """The JSON schema of a command's arguments, common ones included, self-contained."""
    schema = _inline(command.request)
    extra = _inline(Common)["properties"]
    if not command.writes:
        extra.pop("idempotency_key")
    if not command.needs_workspace:
        extra.pop("workspace")
    schema["properties"] = {**extra, **schema.get("properties", {})}
    schema["additionalProperties"] = False
    schema.pop("description", None)
    schema.pop("title", None)
    return schema


def _inline(kind: type[Any]) -> dict[str, Any]:
    """The schema of one type; nested types stay in `$defs`."""
    (ref,), defs = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    name = ref["$ref"].rpartition("/")[2]
    schema: dict[str, Any] = defs.pop(name)
    if defs:
        schema["$defs"] = defs
    return schema
