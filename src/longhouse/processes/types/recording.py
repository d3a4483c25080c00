"""Requests and results for recordings: exporting an ended task to a file, and importing one."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from longhouse.kernel.names import also
from longhouse.kernel.values import Request, Result, Title
from longhouse.processes.types.tasks import ProcessRef, TaskView

__all__ = ["ExportRecording", "ImportRecording", "RecordingImported", "RecordingPage"]

TaskArg = ProcessRef
Place = Annotated[
    str,
    Meta(pattern=r"\A[0-9]{1,15}\.[0-9]{1,15}\.[0-9]{1,15}\Z", examples=["12.0.340"]),
]


class ExportRecording(Request["RecordingPage"], frozen=True, kw_only=True):
    """Read the recording of an ended task, from a `cursor` on."""

    task_id: TaskArg
    cursor: Place | None = None


class RecordingPage(Result, frozen=True, kw_only=True, omit_defaults=False):
    """Whole lines of the recording; joined in order, the pages are the file."""

    task_id: str
    data_b64: str
    has_more: bool
    next_cursor: str | None


class ImportRecording(Request["RecordingImported"], frozen=True, kw_only=True):
    """Import a recording or an asciicast v3 into this workspace, for viewing.

    A file of up to a megabyte fits into `content_b64`; store a larger one as an `artifact` first,
    in parts that `docs.artifact.join` joins.
    """

    artifact: (
        Annotated[
            str,
            Meta(min_length=7, max_length=80, examples=["artifact:2cf24dba5fb0"]),
            also("id", "ref"),
        ]
        | None
    ) = None
    content_b64: Annotated[str, Meta(min_length=1, max_length=1_400_000)] | None = None
    title: Title | None = None


class RecordingImported(Result, frozen=True, kw_only=True):
    task: TaskView
