"""The ledger: a record of the subagents that programs dispatch, from before they start to the end.

Owns the table `subagents`. It runs nothing: `longhouse.subagents.recorder` writes here through the
commands, from the dispatching process. README.md describes the states and what happens on failure.
"""
