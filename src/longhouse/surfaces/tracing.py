"""OpenTelemetry spans, one per call, enabled with `LONGHOUSE_OTEL=1`.

The usual `OTEL_*` variables, which the OpenTelemetry SDK reads itself, say where spans are sent. A
span is recorded when its call has finished, as a child of the transport's span.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from longhouse import __version__
from longhouse.kernel.envelope import Answer
from longhouse.kernel.errors import InvalidInput

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

__all__ = ["Tracing", "to_collector"]


class Tracing:
    """An observer that turns each call into a span."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("longhouse", __version__)

    def observe(
        self, cmd: str, answer: Answer, seconds: float, defect: BaseException | None
    ) -> None:
        from opentelemetry.trace import StatusCode

        ended = time.time_ns()
        span = self._tracer.start_span(
            f"longhouse {cmd}",
            start_time=ended - int(seconds * 1e9),
            attributes={"longhouse.cmd": cmd, "longhouse.code": answer.code or "OK"},
        )
        if defect is not None:
            span.set_status(StatusCode.ERROR, type(defect).__name__)
        span.end(ended)

    def close(self) -> None:
        """Send the spans that are still waiting."""
        self._provider.shutdown()


def to_collector() -> Tracing:
    """Spans over OTLP, for our calls and for the SDK's own."""
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise InvalidInput(
            "otel: tracing needs packages that are not installed",
            recovery="install longhouse[otel], or unset LONGHOUSE_OTEL",
        ) from None
    provider = TracerProvider(resource=Resource.create({"service.name": "longhouse"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return Tracing(provider)
