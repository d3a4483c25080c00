"""The typed graph: versioned nodes and edges in a document on a branch.

Owns the versions, which of them a branch shows, three-way merges into the base, and conflicts.
"""
