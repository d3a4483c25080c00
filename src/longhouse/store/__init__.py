"""The store: transactions, the one sequence, the log and wake-ups, on any engine.

Rooms use `Tx` and named queries; surfaces and rooms never see a database driver.
"""
