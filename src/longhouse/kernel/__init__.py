"""The foundation of every room: pure values and rules, no I/O.

The kernel defines commands, answers, budgets, errors, refs and time. It imports nothing else from
Longhouse, so surfaces, rooms and tests all share the same definitions.
"""
