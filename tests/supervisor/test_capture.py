"""How much of a child's output is kept."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longhouse.supervisor import StreamCapture


@settings(suppress_health_check=[HealthCheck.too_slow])  # of a loaded machine
@given(st.lists(st.binary(max_size=40), max_size=60))
def test_a_capture_keeps_the_beginning_and_the_end(chunks: list[bytes]) -> None:
    capture = StreamCapture(head=50, tail=30)
    for chunk in chunks:
        capture.feed(chunk)
    whole = b"".join(chunks)
    assert capture.total == len(whole)
    if capture.omitted:
        assert len(whole) > 80
        assert capture.text().startswith(whole[:50].decode("utf-8", "replace")[:40])
        kept = set(whole.split(b"\n"))
        assert all(line.encode() in kept for line in capture.lines() if "\ufffd" not in line)
    else:
        assert capture.text() == whole.decode("utf-8", "replace")
