"""The reasoning engine: a fixed table of signals over the slice that a read returns.

It only reads, takes its time from the newest item in the slice, and gives the same signals and
actions for the same slice. Every call it suggests runs as is.
"""
