"""The crew's refusals; each code is stable and each says what to do next."""

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
    """An agent's name is 3 to 48 of a-z, 0-9 and single hyphens, like amber-otter."""

    code = "INVALID_AGENT_ID"


class InvalidRole(InvalidName):
    """A role must say something."""

    code = "INVALID_ROLE"
    fix = "use a word such as ui or reviewer"


class MissingBeadId(InvalidInput):
    """It must be said which work item this is about."""

    code = "MISSING_BEAD_ID"
    fix = "name the work item: bead_id=TASK-001"


class InvalidMessage(InvalidInput):
    """A message needs a subject and a text."""

    code = "INVALID_MESSAGE"


class InvalidCategory(InvalidInput):
    """That is no category of message."""

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
    """There is no agent of that name."""

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
    """There is no live reservation of that scope."""

    code = "RESERVATION_NOT_FOUND"
    fix = "see what is reserved with agents.status"


class AgentTokenRequired(Forbidden):
    """That acts as an agent and needs its agent_token."""

    code = "AGENT_TOKEN_REQUIRED"
    fix = "pass the agent_token that agents.register or agents.adopt gave"


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
    """It cannot be decided safely who you are."""

    code = "AMBIGUOUS_SESSION"


class ReservationConflict(Conflict):
    """An active agent holds that scope."""

    code = "RESERVATION_CONFLICT"


class ReservationStaleFound(Conflict):
    """A silent or expired reservation is in the way."""

    code = "RESERVATION_STALE_FOUND"
    fix = "repeat the call with takeover_stale=true to take it over"


class ScopeTooWide(Conflict):
    """More reservations are in the way than one call may end."""

    code = "SCOPE_TOO_WIDE"
    fix = "reserve a narrower scope"


class ScopeNotUnderstood(InvalidInput):
    """A pattern must be one that is understood."""

    code = "SCOPE_NOT_UNDERSTOOD"
    fix = "name a file (src/login.py), a folder (src) or all that lies below one (src/*, src/**)"


class ScopeOutsideProject(InvalidInput):
    """A scope must lie inside the project."""

    code = "SCOPE_OUTSIDE_PROJECT"
    fix = "name a path below the project root"
