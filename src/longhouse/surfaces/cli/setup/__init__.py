"""The entries that `longhouse init` adds to the settings files of MCP clients, and removes.

The files belong to people and their clients: everything else in them stays as it is, including
order, comments and indentation, and a file that cannot be parsed is left alone.
"""

__all__: list[str] = []
