"""What `longhouse init` writes into the files of MCP clients, and takes out again.

The files belong to people and to their clients: whatever is in them stays as it is, order, comments
and indentation included, and a file that cannot be understood is left alone.
"""

__all__: list[str] = []
