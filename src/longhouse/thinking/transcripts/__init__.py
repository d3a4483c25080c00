"""Bounded, read-only access to the transcripts that agents leave on this machine.

Nothing is stored, nothing is indexed, nothing runs in the background. The folders are those of the
clients and those that the user's own settings add; a caller can choose one of them or a folder
inside, and cannot escape through `..` or a symbolic link.
"""
