"""The runner (`longhouse runner`): claims jobs, runs agents on them in time slices, and reports.

The control plane never runs an agent; the runner does, and talks to it like any MCP client.
README.md describes the life of a slice, the invariants, and how each failure is handled.
"""
