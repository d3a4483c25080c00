"""A bounded window into the transcripts that agents leave on this machine.

It reads and never keeps: nothing is stored, nothing is indexed, nothing runs in the background. The
folders are those of the clients and those that the person's own settings add; a caller can choose
among them and inside them, and cannot leave them by `..` or by a link.
"""
