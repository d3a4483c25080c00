"""The SDK, and the thin wire client under it that the command line shares.

`longhouse.connect` and `longhouse.connect_async` are the door; their values are `Client` and
`AsyncClient`. Nothing is imported here: a command line that only speaks to a running server must
not pay for the typed half.
"""
