"""`longhouse mcp`: what an MCP client starts, a thin way from its pipe to the store's server.

    client ── lines of JSON-RPC ── bridge ── POST /mcp, one exchange a request ── server

The bridge answers what never changes by itself (`answers.json`, made from the registry), and sends
everything else as a request of the newest protocol, whatever the client speaks: such a request
carries all it needs, so there is no session on the server that a restart could end. Nothing heavy
is imported: a client drops a server that is slow to answer.
"""

__all__: list[str] = []
