"""After a refusal for lack of a role: the message to who may do it, for the caller to complete.

It names only what the refused call named: its command and its refs. What is asked, and who asks if
the call did not say so, is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from longhouse.crew.room import room
from longhouse.crew.types.mail import Send
from longhouse.kernel.contributions import Refusal
from longhouse.kernel.errors import Forbidden, Suggestion
from longhouse.kernel.values import Draft

__all__ = ["ask_for_it"]

_REFS = ("job", "task", "plan", "task_id", "id", "path", "scope", "rule", "tool", "reply_job")
_WHO = ("agent", "agent_id")


@room.recovers
def ask_for_it(refusal: Refusal) -> Iterator[Suggestion]:
    """Offer the message to the agent or role that may do what the caller may not."""
    error, command, args = refusal.error, refusal.command, refusal.args
    if not isinstance(error, Forbidden) or error.ask is None or command is None:
        return
    known: dict[str, Any] = {"to": error.ask, "subject": _subject(command.cmd, args)}
    sender = next((args[name] for name in _WHO if isinstance(args.get(name), str)), None)
    if sender:
        known["agent"] = sender
    if isinstance(args.get("task"), str):
        known["bead_id"] = args["task"]
    missing = ["body"] if sender else ["agent", "body"]
    who = error.ask.removeprefix("role:")
    who = f"an agent with the {who} role" if error.ask.startswith("role:") else who
    yield Suggestion(
        Draft(Send, known, missing), f"ask {who} to do it", action_id="recover.ask::agents.send"
    )


def _subject(cmd: str, args: Mapping[str, Any]) -> str:
    """The refused command and what it was about, in the call's own refs."""
    refs = [str(args[name]) for name in _REFS if isinstance(args.get(name), str)]
    return " ".join([cmd, *refs])[:200]
