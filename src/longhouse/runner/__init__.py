"""The runner: claims jobs, runs agents on them in time slices, and reports; `longhouse runner`.

It executes what the control plane never may, and speaks to it as any MCP client does. README.md has
the life of a slice, what always holds, and what happens on every failure.
"""
