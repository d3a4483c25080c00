"""The reasoning engine: a fixed table of signals over the slice that a read returns.

It only reads, knows no clock but the slice's own newest moment, and gives the same signals and
actions for the same slice. Every call that it offers runs as it stands.
"""
