"""Lets tests start their own event loops while a browser is open.

Playwright keeps its loop running in the main thread for as long as the browser is open, which is
until a worker's last test; until then, no other loop could start in that thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import TypeVar

import pytest

T = TypeVar("T")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, T, T]:
    """Suspend the browser's loop for a test without a browser; the last test closes it."""
    if nextitem is None or "chromium" in getattr(item, "fixturenames", ()):
        return (yield)
    browsers = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        return (yield)
    finally:
        asyncio._set_running_loop(browsers)
