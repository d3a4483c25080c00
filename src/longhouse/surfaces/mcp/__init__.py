"""MCP: ten tools over the registry, for both protocol eras, over stdio and streamable HTTP.

Importing the MCP SDK takes about a second, so only `server`, `manager` and `stdio` import it.
"""

__all__: list[str] = []
