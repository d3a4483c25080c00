"""MCP: ten tools over the registry, both protocol eras, stdio and streamable HTTP.

Importing the SDK costs about a second, so nothing outside this package imports it, and only what
serves imports this package.
"""

__all__: list[str] = []
