"""The single entry point: from a command name and arguments to an answer, for every surface.

    role → arguments, common ones split off → request value → workspace → handler in a transaction
    → redaction → budget → envelope or lines

Surfaces contain no rules and reach the rooms only through here.
"""

from typing import TYPE_CHECKING

from longhouse.kernel.doors import door

if TYPE_CHECKING:
    from longhouse.dispatch.calls import Caller, ClientSession, Observer
    from longhouse.dispatch.dispatcher import Dispatcher
    from longhouse.dispatch.events import (
        PAGE_ROWS,
        Filter,
        Frame,
        event_of,
        frame_of,
        log_page,
        log_stretch,
        refuse_namesake,
        sse,
    )
    from longhouse.dispatch.turns import Turns
else:
    __getattr__ = door(__name__)
