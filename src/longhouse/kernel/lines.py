"""BM-L1, the line protocol: `fmt=lines` answers, meant to be read and pasted.

The first line is the state. Untagged lines after it are rows or commands to paste. The only tags
are ERROR:, WARNING:, MORE:, REFERENCE:, CMD: and WATERMARK:. No line is blank or a block of JSON.
A cut answer keeps whole lines, including its first line and its first command. A command line
parses back to the call it was made from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.redact import redact_text
from longhouse.kernel.trim import clip_text

__all__ = [
    "cell",
    "clip",
    "command_line",
    "cut",
    "error_lines",
    "gist",
    "one_line",
    "parse_command_line",
    "plain_lines",
    "tidy",
    "warning_line",
]

_BARE = re.compile(r"[A-Za-z0-9_\-./:@+]+\Z")
_LITERAL = re.compile(r"(?:true|false|null|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\Z")
_GAP = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNSAFE = re.compile(r"[\x7f-\x9f\u2028\u2029]")
_WORD = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)=")
_TOOL = re.compile(r"\s*([a-z][a-z_.]*)(?=\s|\Z)")
_FLAT_TOOLS = ("status", "open")
_ENVELOPE = ("op", "cmd", "workspace", "args")


def one_line(text: str) -> str:
    """The text on one line, without control characters.

    A secret that they disguise is hidden first: without them nothing would recognize it.
    """
    if _CONTROLS.search(text):
        text = redact_text(text)
    return _GAP.sub(" ", text).strip()


def tidy(lines: Sequence[str]) -> list[str]:
    """The lines as the protocol requires: no line breaks, no blank lines, at least one line."""
    return [line for text in lines if (line := one_line(text))] or ["ok"]


def clip(text: str, chars: int) -> str:
    """One line of at most `chars`, with an ellipsis if cut; secrets are hidden before cutting."""
    line = one_line(text)
    return line if len(line) <= chars else clip_text(redact_text(line), chars)


def gist(text: str, chars: int) -> str:
    """The first part of a sentence, of at most `chars`: up to a colon, or else up to a word."""
    if len(text) <= chars:
        return text
    for stop in (";", ":"):
        start, found, _ = text[: chars + 1].rpartition(stop)
        if found and len(start) >= 20:
            return start
    start = text[:chars].rpartition(" ")[0] or text[: chars - 1]
    return f"{start.rstrip(' ,;:')}…"


def value(item: Any) -> str:
    """One argument value in a command line: bare if it is a plain word, otherwise JSON."""
    if isinstance(item, str) and _BARE.match(item) and not _LITERAL.match(item):
        return item
    text = msgspec.json.encode(item).decode()
    return _UNSAFE.sub(lambda odd: f"\\u{ord(odd[0]):04x}", text)


def command_line(
    tool: str,
    args: Mapping[str, Any],
    *,
    default_workspace: str | None,
    missing: Sequence[str] = (),
) -> str:
    """`jobs cmd=jobs.open job=JOB-001`: a call with sorted keys, without nulls and defaults.

    What is missing is named at the end, in words that are refused if they are pasted.
    """
    envelope = {k: v for k, v in args.items() if v is not None}
    if envelope.get("workspace") == default_workspace:
        envelope.pop("workspace", None)
    if envelope.get("op") == "call" and "cmd" in envelope:
        del envelope["op"]
    inner = envelope.pop("args", None) or {}
    # An argument named like a part of the envelope would be read as that part.
    taken = {"op", "args", *envelope}
    head = [f"{key}={value(envelope.pop(key))}" for key in ("op", "cmd") if key in envelope]
    if not taken.isdisjoint(inner):
        envelope["args"] = inner
    else:
        envelope.update({k: v for k, v in inner.items() if v is not None})
    rest = [f"{key}={value(item)}" for key, item in sorted(envelope.items())]
    lacks = [f"# missing: {', '.join(missing)}"] if missing else []
    return " ".join([tool, *head, *rest, *lacks])


def parse_command_line(line: str) -> tuple[str, dict[str, Any]]:
    """The tool and the portal arguments of a pasted command line."""
    match = _TOOL.match(line)
    if match is None:
        raise InvalidInput("line: expected `<tool> name=value …`; fix: status")
    tool, at = match[1], match.end()
    given: dict[str, Any] = {}
    while line[at:].strip():
        word = _WORD.match(line, at)
        if word is None:
            raise InvalidInput(f"line: expected name=value at {clip(line[at:], 40)!r}")
        item, at = _read_value(line, word.end())
        if word[1] in given:
            raise InvalidInput(f"{word[1]}: given twice")
        given[word[1]] = item
    if tool in _FLAT_TOOLS:
        return tool, given
    call: dict[str, Any] = {}
    if "op" not in given and "cmd" in given:
        call["op"] = "call"
    golden = given.get("op", "call") != "call"
    for name in _ENVELOPE:
        if name in given and not (name == "cmd" and golden):
            call[name] = given.pop(name)
    inner = call.setdefault("args", {})
    if given and not isinstance(inner, dict):
        raise InvalidInput("args: expected an object")
    call["args"] = {**inner, **given} if given else inner
    return tool, call


def _read_value(line: str, at: int) -> tuple[Any, int]:
    """A JSON value or a bare word, and where it ends."""
    if line[at : at + 1] in ('"', "[", "{"):
        import json

        try:
            item, end = json.JSONDecoder().raw_decode(line, at)
        except (ValueError, RecursionError):
            raise InvalidInput(f"line: not valid JSON at {clip(line[at:], 40)!r}") from None
        if line[end : end + 1].strip():
            raise InvalidInput(f"line: expected a space at {clip(line[end:], 40)!r}")
        return item, end
    end = at
    while end < len(line) and not line[end].isspace():
        end += 1
    word = line[at:end]
    if _LITERAL.match(word):
        with suppress(msgspec.DecodeError):
            return msgspec.json.decode(word), end
    return word, end


def error_lines(error: Mapping[str, Any], commands: Sequence[str]) -> list[str]:
    """The error, and at most two commands that fix it."""
    return [f"ERROR: {_told(error)}", *commands[:2]]


def warning_line(warning: Mapping[str, Any]) -> str:
    return f"WARNING: {_told(warning)}"


def _told(trouble: Mapping[str, Any]) -> str:
    """`CODE message | fix: recovery`, with the fix given only once."""
    said, recovery = one_line(trouble["message"]), trouble.get("recovery")
    if recovery:
        said = f"{said.partition('; fix: ')[0]} | fix: {one_line(recovery)}"
    return f"{trouble['code']} {said}"


def plain_lines(intent: str, result: Mapping[str, Any]) -> list[str]:
    """Any result as lines: its values on the first line, then one line per row of its lists.

    What is nested is not lost: an object's values have dotted names, and the rows of a list inside
    a row follow it under the list's name.
    """
    cells, lists = _flat(result, counts=True)
    return [" ".join([intent, *cells]), *_rows(lists)]


def _flat(
    row: Mapping[str, Any], prefix: str = "", *, counts: bool = False
) -> tuple[list[str], list[tuple[str, list[Any]]]]:
    """The values of an object as cells, and its lists of objects, both under dotted names."""
    cells, lists = list[str](), list[tuple[str, list[Any]]]()
    for key, item in row.items():
        name = f"{prefix}{key}"
        if isinstance(item, str | int | float):
            cells.append(f"{name}={_cell(item)}")
        elif isinstance(item, Mapping):
            inner = _flat(item, f"{name}.", counts=counts)
            cells += inner[0]
            lists += inner[1]
        elif isinstance(item, list) and prefix and not any(isinstance(i, Mapping) for i in item):
            cells += [f"{name}={_cell(value(item))}"] if item else []
        elif isinstance(item, list):
            lists.append((name, item))
            cells += [f"{name}={len(item)}"] if counts else []
    return cells, lists


def _rows(lists: Sequence[tuple[str, list[Any]]]) -> Iterator[str]:
    for name, rows in lists:
        mark = f"- {name}:" if "." in name else "-"
        for row in rows:
            if not isinstance(row, Mapping):
                yield f"{mark} {clip(str(row), 200)}"
                continue
            cells, inner = _flat(row)
            plain = [(key, items) for key, items in inner if not any(map(_is_object, items))]
            cells += [f"{key}={_cell(value(items))}" for key, items in plain if items]
            yield " ".join([mark, *cells])
            yield from _rows(
                [(f"{name}.{key}", items) for key, items in inner if any(map(_is_object, items))]
            )


def _is_object(item: Any) -> bool:
    return isinstance(item, Mapping)


def cell(text: str, chars: int) -> str:
    """A part of a line, at most `chars` long; bars are replaced, because ` | ` separates parts."""
    return clip(text, chars).replace("|", "¦")


def _cell(item: str | float) -> str:
    return value(clip(item, 120)) if isinstance(item, str) else value(item)


def cut(
    lines: Sequence[str],
    *,
    max_chars: int,
    max_lines: int | None = None,
    max_bytes: int | None = None,
    keep_last: int = 0,
) -> tuple[list[str], bool]:
    """As many whole lines as fit: always the first, then the last `keep_last`, then the others.

    A `MORE:` line says how many were left out. It is shortened if there is little room and omitted
    if even the short form does not fit.
    """

    def fits(kept: Sequence[str]) -> bool:
        if max_lines is not None and len(kept) > max_lines:
            return False
        text = "\n".join(kept)
        return len(text) <= max_chars and (max_bytes is None or len(text.encode()) <= max_bytes)

    if len(lines) == 1 or fits(lines):
        return list(lines), False
    head, rest = list(lines[:1]), list(lines[1:])
    tail = rest[len(rest) - keep_last :] if keep_last else []
    rows = rest[: len(rest) - len(tail)]
    while tail and not fits(head + tail):
        tail.pop()
    low, high = 0, len(rows)

    def shown(count: int, advice: str = "; raise max_chars or max_lines") -> list[str]:
        left = len(lines) - 1 - count - len(tail)
        return [*head, *rows[:count], f"MORE: {left} lines left out{advice}", *tail]

    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(shown(middle)) else (low, middle - 1)
    for answer in (shown(low), shown(0, "")):
        if fits(answer):
            return answer, True
    return head + tail, True
