"""MCP: ten tools over the registry, both protocol eras, stdio and streamable HTTP.

Importing the SDK costs about a second, so nothing outside this package imports it, and in here
only `server`, `manager` and `stdio` do.
"""

__all__: list[str] = []
