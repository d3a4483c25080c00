"""Recall: the index that finds what was written by its words, and the ranking of what it finds.

Rooms index through `index.py` in the transaction that writes the row, and declare with
`@room.searchable` how a row is read back. The index only locates; the tables decide what is shown.
"""
