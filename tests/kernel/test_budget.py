"""Budgets: exact sizes, cuts in the declared order, correct pages, never an empty answer."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.kernel.budget import PROFILES, Budget, Clip, Drop, Pop, Trim, fit
from longhouse.kernel.trim import apply


def chars(result: dict[str, Any]) -> int:
    bare = {key: item for key, item in result.items() if key != "budget"}
    return len(msgspec.json.encode(bare).decode())


def page(count: int, text: str = "x" * 50) -> dict[str, Any]:
    """A page of entries, oldest first, whose rows page by `seq`."""
    return {
        "doc": "notes",
        "entries": [{"seq": n, "content": f"{n} {text}"} for n in range(1, count + 1)],
        "pagination": {"cursor": None, "has_more": False, "limit": 20, "count": count},
    }


TRIMS: list[Trim] = [
    Pop("entries", oldest="first", leave=1, cursor="seq"),
    Clip("entries.content", 10),
]


def test_an_answer_that_fits_is_left_alone_and_says_so() -> None:
    fitted = fit(page(2), Budget(max_chars=20_000))
    assert fitted.codes == ()
    assert fitted.result["truncated"] is False
    assert "budget" not in fitted.result


@pytest.mark.proves("MEM-296", "MEM-297")
def test_a_budget_that_was_asked_for_is_reported_without_counting_itself() -> None:
    result = fit(page(2), Budget(max_chars=20_000, explicit=True)).result
    assert result["budget"] == {
        "max_chars": 20_000,
        "used_chars": chars(result),
        "truncated": False,
    }


def test_a_budget_of_an_earlier_answer_is_not_repeated() -> None:
    before = fit(page(2), Budget(max_chars=20_000, explicit=True)).result
    again = fit({**before}, Budget(max_chars=20_000)).result
    assert "budget" not in again


@pytest.mark.proves("MEM-295", "MEM-297")
def test_a_cut_answer_drops_its_oldest_rows_and_measures_what_is_left() -> None:
    result = fit(page(20), Budget(max_chars=600, explicit=True), TRIMS).result
    assert result["truncated"] is True
    assert result["entries"][-1]["seq"] == 20
    assert result["budget"]["used_chars"] == chars(result) <= 600
    assert result["pagination"] == {
        "cursor": None,
        "next_cursor": result["entries"][0]["seq"],
        "has_more": True,
        "limit": 20,
        "count": len(result["entries"]),
    }


@given(st.integers(2, 3_000), st.integers(1, 40))
def test_following_the_cursor_of_cut_pages_meets_every_row_exactly_once(
    max_chars: int, count: int
) -> None:
    rows = page(count)["entries"]
    met: list[int] = []
    cursor: int | None = None
    for _ in range(count + 1):
        left = [row for row in rows if cursor is None or row["seq"] < cursor]
        shown = {**page(0), "entries": copy.deepcopy(left)}
        shown["pagination"] |= {"count": len(left), "cursor": cursor}
        result = fit(shown, Budget(max_chars=max_chars), TRIMS).result
        pagination = result["pagination"]
        got = [row["seq"] for row in result.get("entries", [])]
        if not got and left:
            assert pagination["has_more"]
            assert pagination.get("next_cursor") == cursor, "an emptied page starts over"
            return
        met = got + met
        if not pagination["has_more"]:
            break
        cursor = pagination["next_cursor"]
    assert met == [row["seq"] for row in rows]


def test_a_page_counted_by_offset_goes_on_after_the_rows_that_were_kept() -> None:
    result: dict[str, Any] = {
        "cmds": [{"cmd": f"c{n}", "summary": "s" * 40} for n in range(30)],
        "pagination": {
            "offset": 10,
            "limit": 30,
            "total": 99,
            "has_more": True,
            "count": 30,
            "next_cursor": 40,
        },
    }
    fit(result, Budget(max_chars=700), [Pop("cmds", cursor="offset")])
    kept = len(result["cmds"])
    assert 0 < kept < 30
    assert result["pagination"]["next_cursor"] == 10 + kept


def test_cutting_an_unpaged_list_leaves_the_page_of_its_neighbour_alone() -> None:
    result: dict[str, Any] = {
        "nodes": [{"id": f"n{n}", "seq": n} for n in range(3)],
        "edges": [{"from": "n1", "to": "n2", "rel": "r" * 30} for _ in range(40)],
        "pagination": {"cursor": None, "has_more": False, "limit": 20, "count": 3},
    }
    fit(result, Budget(max_chars=500), [Pop("edges")])
    assert result["pagination"] == {"cursor": None, "has_more": False, "limit": 20, "count": 3}
    assert 0 < len(result["edges"]) < 40


def test_rows_are_cut_in_lists_of_inner_objects_with_their_own_pages() -> None:
    result = {"trace": page(20), "notes": page(3), "ref": "TASK-001"}
    fit(result, Budget(max_chars=900), [Pop("trace.entries", oldest="first", cursor="seq")])
    trace, notes = result["trace"], result["notes"]
    assert isinstance(trace, dict)
    assert isinstance(notes, dict)
    assert trace["pagination"]["has_more"]
    assert trace["pagination"]["count"] == len(trace["entries"]) < 20
    assert notes["pagination"]["count"] == 3


def test_a_flag_named_after_the_list_tells_that_rows_were_dropped() -> None:
    result = {
        "events": [{"seq": n, "message": "m" * 40} for n in range(9)],
        "has_more_events": False,
    }
    fit(result, Budget(max_chars=300), [Pop("events", leave=1)])
    assert result["has_more_events"] is True


def test_a_text_is_clipped_only_as_far_as_is_needed() -> None:
    result = fit({"text": "y" * 5_000}, Budget(max_chars=1_000), [Clip("text", 80)]).result
    assert chars(result) == 1_000
    assert result["text"].endswith("…")


def test_optional_fields_go_in_the_declared_order() -> None:
    result = {"a": "x" * 100, "b": "y" * 100, "c": "z" * 100}
    fit(result, Budget(max_chars=260), [Drop("b"), Drop("a")])
    assert result.keys() - {"budget"} == {"a", "c", "truncated"}


def test_a_cut_answer_names_the_fields_that_lost_something() -> None:
    def answer() -> dict[str, Any]:
        told = {"truncated_fields": ["capsule.risks"], "minimal": False}
        return {"id": "TASK-001", "degradation": told, **page(20)}

    usual = fit(answer(), Budget(max_chars=900, explicit=True), TRIMS)
    assert usual.codes == ("BUDGET_TRUNCATED",)
    assert usual.result["degradation"] == {
        "truncated_fields": ["capsule.risks", "entries"],
        "minimal": False,
    }
    tiny = fit(answer(), Budget(max_chars=120, explicit=True))
    assert "BUDGET_MINIMAL" in tiny.codes
    assert tiny.result["degradation"]["minimal"] is True


def test_a_trim_takes_no_more_than_is_needed() -> None:
    rows = {"rows": [1, 2, 3, 4]}
    apply(Pop("rows"), rows, lambda: len(rows["rows"]) <= 3)
    assert rows == {"rows": [1, 2, 3]}
    jobs = {"jobs": [{"id": 1, "prompt": "p"}, {"id": 2, "prompt": "p"}]}
    apply(Drop("jobs.prompt"), jobs, lambda: "prompt" not in jobs["jobs"][0])
    assert jobs == {"jobs": [{"id": 1}, {"id": 2, "prompt": "p"}]}


@pytest.mark.proves("MEM-298")
def test_past_the_declared_trims_the_answer_is_reduced_to_what_identifies_it() -> None:
    result = {
        "job": {"id": "JOB-001", "title": "t" * 300, "spec": {"prompt": "p" * 999}},
        "events": [{"ref": "JOB-001@4", "message": "m" * 200}] * 20,
    }
    fitted = fit(result, Budget(max_chars=60, explicit=True))
    assert fitted.codes == ("BUDGET_TRUNCATED", "BUDGET_MINIMAL")
    assert fitted.result["job"] == {"id": "JOB-001"}
    assert fitted.result["budget"]["used_chars"] == chars(fitted.result) <= 60


@pytest.mark.parametrize(
    "key",
    ["ref", "task_id", "next_cursor", "last_seq", "next_offset", "has_more", "has_more_events"],
)
def test_what_a_reader_needs_to_go_on_outlives_every_cut(key: str) -> None:
    result = {"text": "t" * 300, "part": {key: 7, "words": "w" * 300, "others": ["o" * 50] * 9}}
    fitted = fit(result, Budget(max_chars=40, explicit=True))
    assert fitted.result["part"] == {key: 7}


@pytest.mark.proves("MEM-299")
@pytest.mark.parametrize("max_chars", [0, 1, 2, 10])
def test_below_the_smallest_answer_the_budget_is_clamped_to_it(max_chars: int) -> None:
    fitted = fit({"text": "a text of some length " * 9}, Budget(max_chars=max_chars, explicit=True))
    assert fitted.codes[-1] == "BUDGET_MIN_CLAMPED"
    assert fitted.result["text"]
    assert fitted.result["budget"]["max_chars"] == chars(fitted.result)


@pytest.mark.proves("MEM-295")
def test_bytes_are_counted_in_utf8_and_characters_are_not() -> None:
    text = "é" * 100
    assert fit({"text": text}, Budget(max_chars=130)).codes == ()
    fitted = fit({"text": text}, Budget(max_chars=20_000, max_bytes=130), [Clip("text", 10)])
    assert fitted.codes == ("BUDGET_TRUNCATED",)
    assert len(msgspec.json.encode(fitted.result)) <= 130 + len('"budget":') + 80


@pytest.mark.proves("MEM-295")
def test_in_json_a_line_is_a_row_at_any_depth() -> None:
    result = {"rows": [{"id": n, "inner": [{"id": m} for m in range(2)]} for n in range(5)]}
    fit(result, Budget(max_chars=20_000, max_lines=7), [Pop("rows")])
    assert [row["id"] for row in result["rows"]] == [0, 1]


def test_the_smaller_of_the_two_names_of_one_budget_wins() -> None:
    assert Budget.of("default", max_chars=900, context_budget=400).max_chars == 400


@pytest.mark.proves("MEM-296")
@pytest.mark.parametrize("knob", ["max_chars", "context_budget"])
def test_either_name_of_the_budget_has_it_reported(knob: str) -> None:
    result = fit(page(2), Budget.of("default", **{knob: 900})).result
    assert result["budget"] == {"max_chars": 900, "used_chars": chars(result), "truncated": False}


@pytest.mark.proves("MEM-295")
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("knob", ["max_chars", "context_budget", "max_bytes", "limit"])
def test_what_is_over_the_cap_of_a_profile_is_lowered_to_it(profile: str, knob: str) -> None:
    cap = PROFILES[profile].cap(knob)
    exact = Budget.of(profile, **{knob: cap})
    assert not list(exact.clamps())
    over = Budget.of(profile, **{knob: cap + 1})
    assert (over.max_chars, over.max_bytes) == (exact.max_chars, exact.max_bytes)
    ((said, fix),) = over.clamps()
    assert said == f"{knob}: {cap + 1} is over the cap of budget_profile={profile}; {cap} was used"
    wider = {"portal": "default", "default": "audit"}.get(profile)
    assert fix == (f"use budget_profile={wider} for more" if wider else f"use {knob} <= {cap}")
    ((_, widest),) = Budget.of(profile, **{knob: 10**30}).clamps()
    assert widest == ("use budget_profile=audit for more" if wider else f"use {knob} <= {cap}")


def test_of_two_sizes_over_the_cap_both_are_told() -> None:
    both = Budget.of("default", max_chars=30_000, max_bytes=90_000, context_budget=40_000)
    assert [said.partition(":")[0] for said, _ in both.clamps()] == [
        "max_chars",
        "context_budget",
        "max_bytes",
    ]


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=30,
)


@given(
    st.dictionaries(st.text(min_size=1, max_size=8), values, max_size=6),
    st.integers(2, 2_000),
    st.none() | st.integers(2, 2_000),
    st.none() | st.integers(0, 10),
)
def test_whatever_the_result_it_fits_or_says_why_not(
    result: dict[str, Any], max_chars: int, max_bytes: int | None, max_lines: int | None
) -> None:
    result.pop("budget", None)
    result.pop("truncated", None)
    before = copy.deepcopy(result)
    budget = Budget(max_chars=max_chars, max_bytes=max_bytes, max_lines=max_lines, explicit=True)
    fitted = fit(result, budget, [Pop("a"), Clip("b", 4)])
    used = chars(fitted.result)
    assert fitted.result["budget"]["used_chars"] == used
    assert fitted.result["truncated"] is bool(fitted.codes)
    if "BUDGET_MIN_CLAMPED" in fitted.codes:
        assert fitted.result["budget"]["max_chars"] >= used
    else:
        assert used <= max_chars
        assert max_bytes is None or used <= max_bytes
    if not fitted.codes:
        kept = {k: v for k, v in fitted.result.items() if k not in ("budget", "truncated")}
        assert kept == before


def test_a_field_of_many_rows_is_dropped_from_the_first_as_far_as_needed_and_quickly() -> None:
    rows = {"rows": [{"id": n, "note": "x" * 10, "last": n} for n in range(200)]}
    whole, looks = len(msgspec.json.encode(rows)), list[int]()

    def fits() -> bool:
        looks.append(1)
        return len(msgspec.json.encode(rows)) <= whole - 1_000

    apply(Drop("rows.note"), rows, fits)
    kept = ["note" in row for row in rows["rows"]]
    assert kept == [False] * 50 + [True] * 150
    assert list(rows["rows"][-1]) == ["id", "note", "last"]
    assert len(looks) < 12
