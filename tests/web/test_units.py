"""What of the page needs no browser: `web/unit`, run by Vitest."""

from __future__ import annotations

import pytest

from tools import page


def test_the_pages_unit_tests_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert page.unit() == 0, capsys.readouterr().out
