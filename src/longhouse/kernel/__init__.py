"""What every room stands on: pure values and rules, no I/O.

The kernel knows commands, answers, budgets, errors, refs and time. It imports nothing of Longhouse
but itself, so that a surface, a room and a test all read the same definitions.
"""
