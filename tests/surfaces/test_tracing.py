"""Spans for calls, if tracing is enabled."""

from __future__ import annotations

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from longhouse.config import Settings
from longhouse.house import House
from longhouse.surfaces.tracing import Tracing


def test_each_call_becomes_a_span_with_its_command_and_code(settings: Settings) -> None:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracing = Tracing(provider)
    with House(settings, observe=tracing.observe) as house:
        house.call("status")
        house.call("open", {"id": "JOB-999"})
    tracing.close()
    spans = kept.get_finished_spans()
    assert [span.name for span in spans] == ["longhouse status", "longhouse open"]
    assert [(span.attributes or {})["longhouse.code"] for span in spans] == ["OK", "UNKNOWN_ID"]
    assert all(span.status.status_code is StatusCode.UNSET for span in spans)
    assert all((span.end_time or 0) > (span.start_time or 0) for span in spans)
