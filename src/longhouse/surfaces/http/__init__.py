"""HTTP: commands at `POST /call/{cmd}`, the log at `GET /events`, MCP at `/mcp`, a page at `/`.

access    who calls, and from where a request may come
calls     commands
feed      the shared tail of each workspace's log
events    the log as server-sent events
openapi, metrics, page, answers, app
"""

__all__: list[str] = []
