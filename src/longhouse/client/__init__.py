"""The SDK, and the thin wire client under it that the command line shares.

`longhouse.connect` and `longhouse.connect_async` are the entry points; they return a `Client` or an
`AsyncClient`. Nothing is imported here, so that a command line that only talks to a running server
does not load the typed half.
"""
