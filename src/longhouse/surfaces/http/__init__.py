"""HTTP: commands at `POST /call/{cmd}`, the log at `GET /events`, MCP at `/mcp`, a page at `/`.

access        authentication, and the Host and Origin checks
limits        how much one request and one token may use
calls         commands
feed          the shared tail of each workspace's log
events        the log as server-sent events
tasks, task_streams, recordings    background processes
crew, openapi, metrics, readiness, page, responses, protocol, app
"""

__all__: list[str] = []
