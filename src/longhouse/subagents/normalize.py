"""Checks a dispatch request before anything else happens, and normalizes texts.

The limits and the messages are part of the interface. Nothing here touches a session.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

from longhouse.subagents.errors import ToolValidationError
from longhouse.subagents.types import DispatchSubagent

__all__ = [
    "INSTRUCTIONS_LIMIT",
    "LABEL_LIMIT",
    "SUMMARY_LIMIT",
    "concise_ascii",
    "normalize_params",
    "normalize_text",
]

INSTRUCTIONS_LIMIT: Final = 2_000
LABEL_LIMIT: Final = 160
SUMMARY_LIMIT: Final = 4_000

_MODES = ("plan_step", "ad_hoc")
_PUNCTUATION = str.maketrans(
    {
        0x2018: "'",
        0x2019: "'",
        0x201C: '"',
        0x201D: '"',
        0x2013: "-",
        0x2014: "-",
        0x2022: "-",
        0x2026: "...",
        0x2192: "->",
        0x00A0: " ",
    }
)


def normalize_params(params: object) -> DispatchSubagent:
    """A new request with trimmed texts and tuples; raises ToolValidationError naming the field."""
    if not isinstance(params, DispatchSubagent):
        raise ToolValidationError(
            f"dispatch_subagent takes a DispatchSubagent; got {type(params).__qualname__}."
        )
    instructions = normalize_text("instructions", params.instructions, INSTRUCTIONS_LIMIT)
    artifacts = _normalize_artifacts(params.expected_artifacts)
    if params.mode not in _MODES:
        raise ToolValidationError(f"mode must be 'plan_step' or 'ad_hoc'; got {params.mode!r}.")
    plan_step_id: str | None = None
    if params.mode == "plan_step":
        if params.plan_step_id is None:
            raise ToolValidationError("plan_step_id is required when mode is 'plan_step'.")
        plan_step_id = normalize_text("plan_step_id", params.plan_step_id, LABEL_LIMIT)
    elif params.plan_step_id is not None:
        raise ToolValidationError(
            f"plan_step_id requires mode 'plan_step'; omit it when mode is {params.mode!r}."
        )
    for field in ("prompt_ns", "prompt_key"):
        value = getattr(params, field)
        if not isinstance(value, str):
            raise ToolValidationError(f"{field} must be text.")
        if not value.strip():
            raise ToolValidationError(f"{field} must not be blank.")
    return DispatchSubagent(
        mode=params.mode,
        prompt_ns=params.prompt_ns,
        prompt_key=params.prompt_key,
        instructions=instructions,
        expected_artifacts=artifacts,
        plan_step_id=plan_step_id,
    )


def normalize_text(field: str, value: object, limit: int) -> str:
    """Trimmed ASCII of 1 to `limit` characters."""
    if not isinstance(value, str):
        raise ToolValidationError(f"{field} must be text; got {type(value).__qualname__}.")
    text = str.strip(value)  # str's own: a subclass may override it
    if not text:
        raise ToolValidationError(f"{field} must be non-empty ASCII text.")
    if len(text) > limit:
        raise ToolValidationError(f"{field} must be <= {limit} characters of ASCII text.")
    if not text.isascii():
        raise ToolValidationError(f"{field} must contain only ASCII characters.")
    return text


def _normalize_artifacts(labels: object) -> tuple[str, ...]:
    if type(labels) is tuple and not labels:  # the common case, checked fast
        return ()
    # A single string is a sequence of characters, which is never what the caller meant.
    if not isinstance(labels, Sequence) or isinstance(labels, (str, bytes)):
        raise ToolValidationError("expected_artifacts must be a list of labels.")
    return tuple(normalize_text("expected_artifacts", label, LABEL_LIMIT) for label in labels)


def concise_ascii(text: str, limit: int = SUMMARY_LIMIT) -> str:
    """ASCII text for users: other characters are transliterated or replaced; a cut is marked."""
    if not text.isascii():
        spelled = unicodedata.normalize("NFKD", text.translate(_PUNCTUATION))
        bare = "".join(one for one in spelled if not unicodedata.combining(one))
        text = bare.encode("ascii", "replace").decode("ascii")
    if len(text) <= limit:
        return text
    note = f" [cut: {len(text)} characters]"
    return text[: limit - len(note)] + note
