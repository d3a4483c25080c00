"""A real server for these tests."""

from tests.surfaces.serving import serve, served

__all__ = ["serve", "served"]
