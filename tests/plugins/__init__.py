"""This repository's pytest plugins, loaded by `tests/conftest.py`."""
