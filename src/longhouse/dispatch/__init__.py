"""The single entry point: from a command name and arguments to an answer, for every surface.

    role → arguments, common ones split off → request value → workspace → handler in a transaction
    → redaction → budget → envelope or lines

Surfaces contain no rules and reach the rooms only through here.
"""

from longhouse.dispatch.calls import Caller, ClientSession, Observer, Prepared
from longhouse.dispatch.dispatcher import Dispatcher

__all__ = ["Caller", "ClientSession", "Dispatcher", "Observer", "Prepared"]
