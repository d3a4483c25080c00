"""Samples and descriptions from a JSON schema, as an error explanation shows them."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.jobs.types.jobs import CreateJob
from longhouse.kernel.explain import sample, shape, unknown_argument

ROOT: dict[str, Any] = {
    "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "integer"}}}}
}
POINT = {"$ref": "#/$defs/Point"}


@pytest.mark.parametrize(
    "schema, value",
    [
        ({"type": "integer", "default": 7}, 7),
        ({"type": "string", "examples": ["TASK-001"]}, "TASK-001"),
        ({"enum": ["fast", "deep"]}, "fast"),
        ({"anyOf": [{"type": "null"}, {"enum": ["a"]}]}, "a"),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "integer", "exclusiveMinimum": 3}, 4),
        ({"type": "array", "items": {"enum": ["a"]}, "minItems": 2}, ["a", "a"]),
        ({"type": "array", "items": {"enum": ["a"]}}, ["a"]),
        (
            {
                "type": "object",
                "properties": {"a": {"enum": [1]}, "b": {"enum": [2]}},
                "required": ["b"],
            },
            {"b": 2},
        ),
        ({"type": "object", "properties": {"a": {"enum": [1]}, "b": {"enum": [2]}}}, {"a": 1}),
        ({"type": "string"}, "text"),
        ({}, "text"),
    ],
    ids=range(12),
)
def test_a_sample_has_the_shape_that_the_schema_asks_for(
    schema: dict[str, Any], value: object
) -> None:
    assert sample(schema, ROOT) == value


def test_a_sample_follows_references() -> None:
    assert sample(POINT, ROOT).keys() == {"x"}
    assert sample({"type": "array", "items": POINT}, ROOT)[0].keys() == {"x"}


@pytest.mark.parametrize(
    "schema, said",
    [
        ({"type": "integer", "minimum": 1, "maximum": 9}, ("1", "9")),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 4}, ("above 0", "below 4")),
        ({"type": "string", "minLength": 2, "maxLength": 5}, ("2", "5 characters")),
        ({"type": "array", "minItems": 3, "maxItems": 6}, ("3", "6 items")),
    ],
)
def test_a_shape_names_both_bounds(schema: dict[str, Any], said: tuple[str, str]) -> None:
    assert all(bound in shape(schema, ROOT) for bound in said)


def test_an_unknown_argument_is_answered_with_the_nearest_or_with_all() -> None:
    near = unknown_argument("", "titel", ["prompt", "title"], CreateJob)
    assert near.recovery == "use title=…"
    assert "did you mean 'title'?" in near.message
    far = unknown_argument("", "zzz", ["title", "prompt"], CreateJob)
    assert far.recovery == "known arguments: prompt, title"
    assert "did you mean" not in far.message
