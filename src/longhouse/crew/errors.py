"""The crew's errors; each has a stable code and says what to do next."""

from __future__ import annotations

from longhouse.kernel.errors import Conflict, Forbidden, InvalidInput, InvalidName, UnknownId

__all__ = [
    "AckForbidden",
    "AdoptionRejected",
    "AgentNotFound",
    "AgentTokenRequired",
    "AmbiguousSession",
    "DuplicateAgentId",
    "InvalidAgentId",
    "InvalidCategory",
    "InvalidMessage",
    "InvalidRole",
    "MessageNotFound",
    "MissingBeadId",
    "NameGenerationExhausted",
    "ReadForbidden",
    "ReleaseForbidden",
    "ReservationConflict",
    "ReservationNotFound",
    "ReservationStaleFound",
    "ScopeNotUnderstood",
    "ScopeOutsideProject",
    "ScopeTooWide",
    "UnknownRecipient",
    "UnknownSender",
]


class InvalidAgentId(InvalidName):
    """An agent's name has 3 to 48 characters: a-z, 0-9 and single hyphens, like amber-otter."""

    code = "INVALID_AGENT_ID"


class InvalidRole(InvalidName):
    """A role must not be empty."""

    code = "INVALID_ROLE"
    fix = "use a word, such as ui or reviewer"


class MissingBeadId(InvalidInput):
    """The work item is missing or is not a valid id."""

    code = "MISSING_BEAD_ID"
    fix = "name the work item (a bead is a task): bead_id=TASK-001, or focus on it"


class InvalidMessage(InvalidInput):
    """A message needs a subject and a body."""

    code = "INVALID_MESSAGE"


class InvalidCategory(InvalidInput):
    """Unknown message category."""

    code = "INVALID_CATEGORY"
    fix = "use one of HANDOFF, BLOCKED, DECISION, INFO"


class DuplicateAgentId(Conflict):
    """That name is taken."""

    code = "DUPLICATE_AGENT_ID"


class NameGenerationExhausted(Conflict):
    """No free name was found."""

    code = "NAME_GENERATION_EXHAUSTED"
    fix = "choose one yourself: agents.register name=<adjective-noun>"


class AgentNotFound(UnknownId):
    """There is no agent with that name."""

    code = "AGENT_NOT_FOUND"
    fix = "list agents with agents.list, or register with agents.register"


class UnknownSender(AgentNotFound):
    """The sender is not registered."""

    code = "UNKNOWN_SENDER"


class UnknownRecipient(AgentNotFound):
    """The recipient is not registered."""

    code = "UNKNOWN_RECIPIENT"


class MessageNotFound(UnknownId):
    """There is no such message."""

    code = "MESSAGE_NOT_FOUND"
    fix = "list messages with agents.inbox"


class ReservationNotFound(UnknownId):
    """There is no active reservation of that scope."""

    code = "RESERVATION_NOT_FOUND"
    fix = "list the reservations with agents.status"


class AgentTokenRequired(Forbidden):
    """Acting as an agent requires its agent_token."""

    code = "AGENT_TOKEN_REQUIRED"
    fix = "pass the agent_token that agents.register or agents.adopt returned"


class ReadForbidden(Forbidden):
    """Only the recipient can mark a message as read."""

    code = "READ_FORBIDDEN"


class AckForbidden(Forbidden):
    """Only the recipient can accept a message."""

    code = "ACK_FORBIDDEN"


class ReleaseForbidden(Forbidden):
    """Only the owner can release a reservation."""

    code = "RELEASE_FORBIDDEN"


class AdoptionRejected(Conflict):
    """There is no evidence that this session continues that identity."""

    code = "ADOPTION_REJECTED"


class AmbiguousSession(Conflict):
    """It is not safe to choose an identity for this session."""

    code = "AMBIGUOUS_SESSION"


class ReservationConflict(Conflict):
    """An active agent holds that scope."""

    code = "RESERVATION_CONFLICT"


class ReservationStaleFound(Conflict):
    """A silent agent or an expired reservation holds that scope."""

    code = "RESERVATION_STALE_FOUND"
    fix = "repeat the call with takeover_stale=true to take it over"


class ScopeTooWide(Conflict):
    """The scope overlaps more reservations than one call may take over."""

    code = "SCOPE_TOO_WIDE"
    fix = "reserve a narrower scope"


class ScopeNotUnderstood(InvalidInput):
    """That pattern is not supported."""

    code = "SCOPE_NOT_UNDERSTOOD"
    fix = "name a file (src/login.py), a folder (src) or everything below one (src/*, src/**)"


class ScopeOutsideProject(InvalidInput):
    """A scope must be inside the project."""

    code = "SCOPE_OUTSIDE_PROJECT"
    fix = "name a path below the project root"
