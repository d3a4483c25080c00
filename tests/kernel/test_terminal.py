"""Untrusted text on a terminal is shown, not obeyed."""

from __future__ import annotations

import pytest

from longhouse.kernel.terminal import tame


@pytest.mark.parametrize(
    "text, shown",
    [
        ("plain text\n\twith tabs", "plain text\n\twith tabs"),
        ("\x1b[2Jgone", "\\u001b[2Jgone"),
        ("over\rwritten", "over\\u000dwritten"),
        ("a line as on Windows\r\n", "a line as on Windows\r\n"),
        ("\u202eturned\u2066", "\\u202eturned\\u2066"),
        ("\x9b31m \x7f \x00", "\\u009b31m \\u007f \\u0000"),
    ],
)
def test_what_would_steer_a_terminal_is_spelled_out(text: str, shown: str) -> None:
    assert tame(text) == shown
