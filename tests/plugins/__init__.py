"""Pytest plugins of this repository, loaded by `tests/conftest.py`."""
