"""The typed graph: versioned nodes and edges in a document of a branch.

Owns the versions, what a branch sees of them, three-way merges back into the base, and conflicts.
"""
