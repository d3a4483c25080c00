"""JSON schemas of commands' arguments, and the common arguments that every command takes.

The common arguments are defined only here, so that the MCP tools, OpenAPI, `system.schema.get` and
the decoder always agree.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.names import HAS_A_NAME, also, is_id
from longhouse.kernel.registry import Command
from longhouse.kernel.values import Request, Value

__all__ = [
    "Common",
    "args_schema",
    "common_args",
    "decode",
    "decode_plain",
    "own_schema",
    "required_args",
    "split_common",
    "takes",
]

_Count = Annotated[int, Meta(ge=0)]
_KEY = also("key", "request_id", "idempotency", "dedupe_key")
_AGENT = r"\A[A-Za-z0-9][A-Za-z0-9._-]*\Z"


class Common(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments that every command takes in addition to its own."""

    workspace: (
        Annotated[
            str,
            Meta(description="defaults to the configured workspace"),
            also("ws", "project", "workspace_id"),
        ]
        | None
    ) = None
    agent_id: (
        Annotated[
            str,
            Meta(max_length=64, pattern=_AGENT, description="who acts, for the record"),
            also("actor", "as_agent"),
        ]
        | None
    ) = None
    max_chars: Annotated[_Count, also("chars", "char_limit", "max_length")] | None = None
    context_budget: Annotated[int, Meta(ge=0, description="alias of max_chars")] | None = None
    max_bytes: _Count | None = None
    max_lines: _Count | None = None
    fmt: Annotated[Literal["json", "lines"], also("format", "output", "output_format")] = "json"
    budget_profile: Literal["portal", "default", "audit"] | None = None
    idempotency_key: (
        Annotated[str, Meta(min_length=1, max_length=200, description="repeat safely"), _KEY] | None
    ) = None


_COMMON = tuple(Common.__struct_fields__)
_NOTHING_COMMON = Common()


_PLAIN = frozenset({"workspace", "agent_id", "fmt", "idempotency_key"})
"""The common arguments that ask for no size."""
_SIZES = ("max_chars", "context_budget", "limit")


def decode_plain(command: Command, args: dict[str, Any]) -> tuple[Request, Common] | None:
    """The request and the common arguments of a call as most are; None if it needs a closer look.

    Nothing is refused here: whatever is unusual goes through `split_common` and `decode`.
    """
    own_names, required = _names_of(command)
    own: dict[str, Any] = {}
    common: dict[str, Any] | None = None
    for name, item in args.items():
        if name in own_names:
            if item is not None or name in required:
                own[name] = item
        elif name not in _PLAIN:
            return None
        elif item is not None:
            common = common or {}
            common[name] = item
    try:
        if common is None:
            return msgspec.convert(own, command.request), _NOTHING_COMMON
        return msgspec.convert(own, command.request), msgspec.convert(common, Common)
    except msgspec.ValidationError:
        return None


@cache
def _names_of(command: Command) -> tuple[frozenset[str], frozenset[str]]:
    """The arguments that a plain call may have, and those that it must."""
    return frozenset(command.fields()) - {*_SIZES}, required_args(command)


def split_common(command: Command, args: dict[str, Any]) -> tuple[dict[str, Any], Common]:
    """The command's own arguments, and the common ones; its own win if a name is both."""
    own_names = command.fields()
    own: dict[str, Any] = {}
    common: dict[str, Any] = {}
    for name, item in args.items():
        if name in _COMMON and name not in own_names:
            if item is not None:
                common[name] = item
        else:
            own[name] = item
    if "idempotency_key" in common and not command.writes_given(own):
        raise InvalidInput("idempotency_key: only writes accept it", recovery="leave it out")
    if not common:
        return own, _NOTHING_COMMON
    try:
        return own, msgspec.convert(common, Common)
    except msgspec.ValidationError as error:
        from longhouse.kernel.explain import explain  # only a refusal needs it

        raise explain(error, Common, _inline(Common), common) from None


def decode(command: Command, args: dict[str, Any]) -> Request:
    """The decoded request; raises InvalidInput with the field and what to write instead."""
    own = command.fields()
    for name in args:
        if name not in own:
            from longhouse.kernel.explain import unknown_argument  # only a refusal needs it

            refused = [one for one in _COMMON if takes(command, one, args[name]) is False]
            not_meant = {*args, *refused} - {*own}.difference(args)
            not_meant |= HAS_A_NAME if is_id(args[name]) else frozenset()
            known = (*own, *_COMMON)
            raise unknown_argument("", name, known, command.request, Common, not_meant=not_meant)
    required = required_args(command)
    given = {k: v for k, v in args.items() if v is not None or k in required}
    try:
        return msgspec.convert(given, command.request)
    except msgspec.ValidationError as error:
        from longhouse.kernel.explain import explain  # only a refusal needs it

        raise explain(error, command.request, args_schema(command), given) from None


def takes(command: Command, name: str, value: Any) -> bool | None:
    """Whether an argument takes this value; None if there is no such argument.

    The value is decoded as a part of the request: its error has a place, which the error about the
    other arguments has not. Decoding to the type of one field alone can crash msgspec.
    """
    kind: type[msgspec.Struct] = command.request if name in command.fields() else Common
    if name not in kind.__struct_encode_fields__:
        return None
    if value is None and name not in required_args(command):
        return True
    try:
        msgspec.convert({name: value}, kind)
    except msgspec.ValidationError as error:
        return " - at `" not in str(error)
    except (TypeError, ValueError):
        return False
    return True


@cache
def required_args(command: Command) -> frozenset[str]:
    """The names of the required arguments."""
    fields = msgspec.structs.fields(command.request)
    return frozenset(field.encode_name for field in fields if field.required)


def common_args(command: Command) -> list[str]:
    """The common arguments that the command takes and does not define itself."""
    own = command.fields()
    return [
        name for name in args_schema(command)["properties"] if name in _COMMON and name not in own
    ]


@cache
def own_schema(command: Command) -> dict[str, Any]:
    """The JSON schema of a command's own arguments, without the common ones."""
    whole, common = args_schema(command), common_args(command)
    own = {name: prop for name, prop in whole["properties"].items() if name not in common}
    return {**whole, "properties": own}


@cache
def args_schema(command: Command) -> dict[str, Any]:
    """The self-contained JSON schema of a command's arguments, common ones included."""
    schema = _inline(command.request)
    extra = _inline(Common)["properties"]
    if not (command.writes or command.writes_with):
        extra.pop("idempotency_key")
    if not command.needs_workspace:
        extra.pop("workspace")
    own = schema.get("properties", {})
    if command.portal == "tasks" and "target" not in own and {"task", "plan"} & own.keys():
        extra["target"] = {"type": ["string", "object"], "description": "the task or plan by id"}
    schema["properties"] = {**extra, **own}
    schema["additionalProperties"] = False
    schema.pop("description", None)
    schema.pop("title", None)
    return schema


def _inline(kind: type[Any]) -> dict[str, Any]:
    """The schema of one type, with nested types in `$defs`."""
    (ref,), defs = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    name = ref["$ref"].rpartition("/")[2]
    schema: dict[str, Any] = defs.pop(name)
    if defs:
        schema["$defs"] = defs
    return schema
