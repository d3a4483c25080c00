"""Reads as of an earlier seq."""
