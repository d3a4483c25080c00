"""The SDK, and the thin wire client under it that the command line shares.

`longhouse.connect` and `longhouse.connect_async` are the entry points; they return a `Client` or an
`AsyncClient`. Nothing is imported here, so that a command line that only talks to a running server
does not load the typed half.
"""

from typing import TYPE_CHECKING

from longhouse.kernel.doors import door

if TYPE_CHECKING:
    from longhouse.client import jsonrpc, launch, locate
    from longhouse.client.aio import AsyncClient
    from longhouse.client.catalog import known_commands, new_key
    from longhouse.client.connecting import connect, connect_async
    from longhouse.client.doors import Door, Post, RemoteDoor, raise_refusal
    from longhouse.client.embedded import EmbeddedDoor
    from longhouse.client.greeting import proof_of
    from longhouse.client.replies import CallOutcome, answer_outcome, outcome_of, outcome_of_text
    from longhouse.client.retry import Retry, outcome_unknown
    from longhouse.client.sync import Client
    from longhouse.client.toolresults import tool_named, tool_outcome, tool_result
    from longhouse.client.wire import Exchange, Reply, Wire
else:
    __getattr__ = door(__name__)
