"""The one way in: from a command name and arguments to an answer, the same for every surface.

    arguments → common ones split off → role → workspace → request value → handler in a transaction
    → redaction → budget → envelope or lines

No rule lives in a surface, and no surface reaches a room but through here.
"""

from longhouse.dispatch.calls import Caller, ClientSession, Observer, Prepared
from longhouse.dispatch.dispatcher import Dispatcher

__all__ = ["Caller", "ClientSession", "Dispatcher", "Observer", "Prepared"]
