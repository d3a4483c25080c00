"""The names that callers try for a field, and the field that they mean."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest

from longhouse.kernel.names import also, field_meant, nearest, snake


class Inner(msgspec.Struct):
    path: Annotated[str, also("file", "filename")]


class Outer(msgspec.Struct):
    job_id: Annotated[str, also("ticket")]
    files: list[Inner]
    by_name: dict[str, Inner]
    only: Inner | None = None


@pytest.mark.parametrize("word", ["jobId", "job-id", " job_id ", "JobId", "job_id"])
def test_the_usual_spellings_of_a_name_are_one(word: str) -> None:
    assert snake(word) == "job_id"


@pytest.mark.parametrize(
    "word, path, field",
    [
        ("jobId", "", "job_id"),
        ("ticket", "", "job_id"),
        ("jobb_id", "", "job_id"),
        ("filename", "files[0]", "path"),
        ("file", "by_name[...]", "path"),
        ("file", "only", "path"),
        ("filename", "", None),
        ("zebra", "", None),
        ("zebra", "no.such.place", None),
    ],
)
def test_a_field_is_found_by_its_name_its_other_words_or_a_slip_of_the_pen(
    word: str, path: str, field: str | None
) -> None:
    assert field_meant(word, path, Outer) == field


def test_the_first_kind_that_knows_a_word_decides() -> None:
    assert field_meant("file", "", Inner, Outer) == "path"
    assert field_meant("files", "", Inner, Outer) == "files"


def test_nothing_is_near_to_what_is_far() -> None:
    assert nearest("titel", ["title", "prompt"]) == "title"
    assert nearest("zebra", ["title", "prompt"]) is None
