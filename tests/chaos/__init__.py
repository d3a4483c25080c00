"""Processes that die at bad moments."""
