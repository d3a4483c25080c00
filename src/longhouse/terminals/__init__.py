"""Terminals as data: keys, screens and recordings.

Pure and light: nothing here opens a store, a socket or a terminal. The room, the host and the
command line each import the modules they need.
"""
