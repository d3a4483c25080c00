"""`longhouse mcp`: the thin bridge between an MCP client's pipe and the store's server.

    client ── lines of JSON-RPC ── bridge ── POST /mcp, one exchange per request ── server

The bridge answers requests with fixed answers itself (`answers.json`, generated from the registry).
It sends everything else in the newest protocol, whatever the client speaks: such a request is
self-contained, so the server holds no session that a restart could lose. The bridge imports nothing
heavy, because clients drop a server that is slow to start.
"""

__all__: list[str] = []
