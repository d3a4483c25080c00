"""Cards: accepted forms, what is written, what repeating does, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.world import fingerprint
from tests.faults import faults
from tests.kit import Lh
from tests.memory.kit import note, state
from tests.thinking.kit import card, task
from tests.work.kit import close, new_task, paths, step

FIELDS = {
    "branch",
    "trace_doc",
    "graph_doc",
    "card_id",
    "inserted",
    "trace_seq",
    "trace_ref",
    "graph_applied",
    "last_seq",
    "graph_ref",
}


def node(lh: Lh, card_id: str, **where: Any) -> dict[str, Any]:
    (found,) = lh("graph.query", ids=[card_id], **where)["nodes"]
    return found


@pytest.mark.proves("MEM-139", "MEM-150", "MEM-156", "MEM-159", "MEM-160")
def test_a_card_becomes_a_note_of_the_trace_and_a_node_of_the_graph(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis", title="The cache is stale")
    made = card(
        lh, "CARD-T1", "test", title="Read after write", supports=["CARD-H1"], text="Twice."
    )
    assert made.keys() >= FIELDS
    assert (made["branch"], made["card_id"], made["inserted"]) == ("main", "CARD-T1", True)
    assert made["trace_ref"] == f"{made['trace_doc']}@{made['trace_seq']}"
    assert made["graph_ref"] == f"{made['graph_doc']}@{made['last_seq']}"
    assert made["graph_applied"] == {"nodes_upserted": 1, "edges_upserted": 1}
    entry = lh("open", id=made["trace_ref"])["entry"]
    assert (entry["kind"], entry["doc"], entry["content"]) == ("note", "trace", "Twice.")
    assert entry["meta"]["card_id"] == "CARD-T1"
    page = lh("graph.query", ids=["CARD-T1", "CARD-H1"])
    assert {one["id"]: one["type"] for one in page["nodes"]} == {
        "CARD-T1": "test",
        "CARD-H1": "hypothesis",
    }
    assert [(e["from"], e["rel"], e["to"]) for e in page["edges"]] == [
        ("CARD-T1", "supports", "CARD-H1")
    ]
    opened = lh("open", id=made["graph_ref"])
    assert (opened["kind"], opened["entry"]["doc"]) == ("doc_entry", "graph")
    named = card(lh, "CARD-T2", "test", branch="main", trace_doc="t", graph_doc="g")
    entries = [lh("open", id=named[f"{doc}_ref"])["entry"] for doc in ("trace", "graph")]
    assert [one["doc"] for one in entries] == ["t", "g"]


@pytest.mark.proves("MEM-144", "MEM-145", "MEM-146")
@pytest.mark.parametrize(
    "given, wanted",
    [
        ({"type": "question", "title": "Why?"}, ("question", "Why?", None, {})),
        ('{"type": "question", "title": "Why?"}', ("question", "Why?", None, {})),
        (
            "type: question\ntitle: Why?\nowner: ann\ntext: first\nand second",
            ("question", "Why?", "first\nand second", {"owner": "ann"}),
        ),
        ("Title is not a key here: no", ("note", None, "Title is not a key here: no", {})),
        ("Just a thought.", ("note", None, "Just a thought.", {})),
        (" Two lines,\nno title. \n", ("note", None, "Two lines,\nno title.", {})),
        ({"text": "x", "colour": "red"}, ("note", None, "x", {"colour": "red"})),
        ("{not json", ("note", None, "{not json", {})),
    ],
)
def test_a_card_may_be_given_in_four_ways(lh: Lh, given: Any, wanted: Any) -> None:
    made = lh("think.card", card=given)
    found = node(lh, made["card_id"])
    assert (found["type"], found.get("title"), found.get("text"), found.get("meta", {})) == wanted


@pytest.mark.proves("MEM-147", "MEM-148", "MEM-149")
def test_what_is_left_out_of_a_card_has_a_default(lh: Lh) -> None:
    made = lh("think.card", card={"text": "x"})
    assert made["card_id"] == f"CARD-{made['trace_seq']}"
    found = node(lh, made["card_id"])
    assert (found["type"], found["status"], found.get("tags", [])) == ("note", "open", [])
    for empty in ({}, {"title": " ", "text": ""}, "", "type: note", {"type": "test", "id": "C"}):
        assert lh.refused("think.card", card=empty)["code"] == "INVALID_INPUT"


@pytest.mark.proves("MEM-158")
@pytest.mark.parametrize("where", ["title", "text"])
@pytest.mark.parametrize("named", ["CARD-H1", "CARD-LATER", "TASK-001", "PLAN-001"])
def test_a_card_that_names_itself_or_something_made_later_is_repeated_without_effect(
    lh: Lh, where: str, named: str
) -> None:
    args = {where: f"see {named}", "status": "open"}
    first = card(lh, "CARD-H1", "hypothesis", **args)
    card(lh, "CARD-LATER", "note")
    task(lh)
    before = fingerprint(lh)
    again = card(lh, "CARD-H1", "hypothesis", **args)
    assert (again["version"], again["trace_seq"]) == (first["version"], first["trace_seq"])
    assert "refs" not in first.keys() | again.keys()
    assert fingerprint(lh) == before
    changed = card(lh, "CARD-H1", "hypothesis", **args, refs=["CARD-LATER"])
    assert (changed["previous_version"], changed["refs"][0]) == (first["version"], "CARD-LATER")
    same = card(lh, "CARD-H1", "hypothesis", **args, refs=["CARD-LATER"])
    assert same["version"] == changed["version"]
    emptied = card(lh, "CARD-H1", "hypothesis", **args, refs=[])
    assert (emptied["version"] == changed["version"]) is (named == "CARD-LATER"), "it mentions it"


def test_a_card_does_not_cite_itself(lh: Lh) -> None:
    made = card(lh, "CARD-H1", "hypothesis", text="CARD-H1", refs=["CARD-H1"])
    assert "refs" not in made
    assert "refs" not in card(lh, "CARD-H1", "hypothesis", text="CARD-H1 again")


@pytest.mark.proves("MEM-158")
def test_the_same_card_twice_is_written_once(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis", title="It is stale")
    args = {"title": "A test", "supports": ["CARD-H1"], "tags": ["B", "a"]}
    first = card(lh, "CARD-T1", "test", **args)
    before = state(lh)
    again = card(lh, "CARD-T1", "test", **args)
    assert state(lh) == before
    assert again["inserted"] is False
    assert again["graph_applied"] == {"nodes_upserted": 0, "edges_upserted": 0}
    assert (again["trace_seq"], again["version"]) == (first["trace_seq"], first["version"])
    lh("think.pin", targets=["CARD-T1"])
    assert card(lh, "CARD-T1", "test", **args)["graph_applied"]["nodes_upserted"] == 0
    card(lh, "CARD-H2", "hypothesis")
    more = card(lh, "CARD-T1", "test", **{**args, "supports": ["CARD-H1", "CARD-H2"]})
    assert more["graph_applied"] == {"nodes_upserted": 0, "edges_upserted": 1}
    assert more["trace_seq"] > first["trace_seq"], "a new edge is a change"


def test_other_content_under_one_id_is_a_new_version_and_keeps_the_rest(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis", title="It is stale")
    first = card(lh, "CARD-T1", "test", title="A test", supports=["CARD-H1"], tags=["slow"])
    lh("think.pin", targets=["CARD-T1"])
    pinned = node(lh, "CARD-T1")["last_seq"]
    second = card(lh, "CARD-T1", "test", title="A better test")
    assert second["inserted"] is False
    assert second["previous_version"] == pinned
    assert second["version"] > pinned > first["version"]
    assert lh("open", id=f"graph@{second['version']}")["entry"]["title"] == "A better test"
    opened = lh("open", id="CARD-T1")
    assert opened["card"]["tags"] == ["pinned", "slow"]
    assert opened["edges"]["supports"] == ["CARD-H1"]
    assert second["trace_seq"] != first["trace_seq"]


@pytest.mark.parametrize("cmd", ["think.card", "think.add.test"])
def test_a_card_without_an_id_is_a_new_card_each_time_and_the_schema_says_so(
    lh: Lh, cmd: str
) -> None:
    made = [lh(cmd, card={"title": "Read after write"}) for _ in range(2)]
    assert [one["inserted"] for one in made] == [True, True]
    assert made[0]["card_id"] != made[1]["card_id"]
    assert not lh("system.schema.get", cmd=cmd)["safety"]["idempotent"]


@pytest.mark.proves("MEM-157")
def test_a_crash_at_any_statement_leaves_neither_trace_nor_graph(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis")
    before, fail_at, done = fingerprint(lh), 0, False
    args = {"card": {"id": "CARD-T1", "type": "test", "title": "T"}, "supports": ["CARD-H1"]}
    while not done:
        assert fingerprint(lh) == before, f"the crash at statement {fail_at} left a part behind"
        fail_at += 1
        with faults(lh.house, fail_at) as writers:
            done = lh.house.call("think.card", args).success
    assert fail_at == writers[-1].count + 1, "a crash was tried at every statement"
    assert lh("open", id="CARD-T1")["edges"]["supports"] == ["CARD-H1"]


def test_a_card_that_is_refused_leaves_neither_trace_nor_graph(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis")
    before = state(lh)
    for more in (
        {"supports": ["CARD-H1", "CARD-NONE"]},
        {"blocks": ["CARD-X1"]},
        {"refs": ["notes@999"]},
        {"refs": ["CARD-fake1"]},
        {"tags": ["x" * 200]},
        {"status": "perhaps"},
        {"supports": ["CARD-X1"]},
    ):
        assert lh.refused("think.card", card={"id": "CARD-X1", "title": "x", **more})
    assert state(lh) == before


def test_an_unknown_card_is_refused_with_the_nearest_id(lh: Lh) -> None:
    card(lh, "CARD-CACHE-STALE", "hypothesis")
    error = lh.refused("think.card", card={"title": "x", "supports": ["CARD-CACHE-STALF"]})
    assert error["code"] == "UNKNOWN_ID"
    assert "CARD-CACHE-STALE" in error["message"]
    made = task(lh)
    card(lh, "CARD-ELSEWHERE", "hypothesis", target=made["id"])
    error = lh.refused(
        "think.link", **{"from": "CARD-CACHE-STALE", "rel": "supports"}, to="CARD-ELSEWHERE"
    )
    assert f"{made['id']}-graph" in error["message"]


@pytest.mark.parametrize(
    "field, value, word",
    [("type", "hypotesis", "hypothesis"), ("status", "opened", "open")],
)
def test_an_unknown_type_or_status_is_refused_with_those_there_are(
    lh: Lh, field: str, value: str, word: str
) -> None:
    error = lh.refused("think.card", card={"title": "x", field: value})
    assert error["code"] == "INVALID_INPUT"
    assert f"{field}={word}" in error["message"]
    assert "decision" in error["recovery"] or "closed" in error["recovery"]


@pytest.mark.proves("MEM-143", "MEM-152", "MEM-186", "MEM-012", "MEM-013")
def test_a_card_goes_where_it_is_told_else_to_the_focus_else_to_the_checkout(lh: Lh) -> None:
    plain = card(lh)
    assert (plain["branch"], plain["trace_doc"], plain["graph_doc"]) == ("main", "trace", "graph")
    made = task(lh)
    lh("tasks.focus.set", task=made["id"])
    here = card(lh)
    assert (here["branch"], here["trace_doc"], here["graph_doc"]) == (
        f"task/{made['id']}",
        f"{made['id']}-trace",
        f"{made['id']}-graph",
    )
    plan = lh("tasks.plan.create", title="Cache")["id"]
    lh("tasks.focus.set", plan=plan)
    assert (card(lh)["branch"], card(lh)["graph_doc"]) == (f"plan/{plan}", f"{plan}-graph")
    there = card(lh, branch="main", trace_doc="t", graph_doc="g")
    assert (there["branch"], there["trace_doc"], there["graph_doc"]) == ("main", "t", "g")
    lh("tasks.focus.clear")
    ends = {"supports": ["CARD-S"], "blocks": ["CARD-B"], "agent_id": "ann"}
    for where in (
        {"target": made["id"], "step": "focus"},
        {"branch": "main", "trace_doc": "t", "graph_doc": "g"},
    ):
        place = {name: value for name, value in where.items() if name != "step"}
        card(lh, "CARD-S", "hypothesis", **place)
        card(lh, "CARD-B", "hypothesis", **place)
        written = lh("think.card", card="whole", **ends, **where)
        assert written["graph_applied"] == {"nodes_upserted": 1, "edges_upserted": 2}
        assert written["branch"] == where.get("branch", f"task/{made['id']}")


@pytest.mark.proves("MEM-151")
def test_who_wrote_a_card_does_not_decide_who_reads_it(lh: Lh) -> None:
    asked = {"id": "CARD-Q1", "type": "question", "title": "?"}
    written = lh("think.card", card=asked, agent_id="ann")
    assert lh("open", id=written["trace_ref"])["entry"]["meta"]["agent_id"] == "ann"
    for reader in ({}, {"agent_id": "bob"}, {"agent_id": "ann"}):
        assert [c["id"] for c in lh("think.query", **reader)["cards"]] == ["CARD-Q1"]


@pytest.mark.proves("MEM-153", "MEM-154", "MEM-155")
def test_a_card_may_belong_to_a_step(lh: Lh) -> None:
    target = new_task(lh, step("First", step("Inner"), step("Other")), "Second")
    rows = lh("tasks.radar", task=target)["steps"]
    steps = {row["path"]: row["step_id"] for row in rows}

    def belongs(wanted: str, path: str, **where: Any) -> None:
        made = lh("think.card", card="x", step=wanted, **where)
        found = node(lh, made["card_id"], target=target)
        assert found["tags"] == [f"step:{steps[path].lower()}"]
        assert found["meta"]["step"] == {
            "task_id": target,
            "step_id": steps[path],
            "path": path,
        }

    for wanted in ("s:1", steps["s:1"]):
        belongs(wanted, "s:1", target=target)
    belongs("s:0.s:1", "s:0.s:1", target=target)
    belongs("focus", "s:0.s:0", target=target)
    close(lh, target, "s:0.s:0")
    lh("tasks.focus.set", task=target)
    belongs("focus", "s:0.s:1")
    lh("tasks.focus.clear")
    for override in ({"branch": "main"}, {"ref": "main"}, {"trace_doc": "t"}, {"graph_doc": "g"}):
        error = lh.refused("think.card", card="x", step="s:0", **override)
        assert "a step belongs to a task" in error["message"]
    assert lh.refused("think.card", card="x", step="focus")["code"] == "INVALID_INPUT"
    assert lh.refused("think.card", card="x", target=target, step="s:7")["code"] == "UNKNOWN_ID"
    plan = lh("tasks.plan.create", title="Cache")["id"]
    error = lh.refused("think.card", card="x", target=plan, step="s:0")
    assert "only tasks have steps" in error["message"]
    while paths(lh, target):
        close(lh, target)
    error = lh.refused("think.card", card="x", target=target, step="focus")
    assert error["code"] == "INVALID_INPUT"
    assert "no open step" in error["message"]


@pytest.mark.proves("MEM-138", "MEM-187")
@pytest.mark.parametrize(
    "kind",
    ["hypothesis", "question", "test", "note", "decision", "evidence", "frame", "update"],
)
def test_the_wrappers_force_the_type(lh: Lh, kind: str) -> None:
    card(lh, "CARD-H1", "hypothesis")
    asked = {"card": {"type": "note", "title": "x"}, "supports": ["CARD-H1"]}
    made = lh(f"think.add.{kind}", **asked)
    assert made.keys() >= FIELDS
    assert node(lh, made["card_id"])["type"] == kind
    assert lh("open", id=made["card_id"])["edges"]["supports"] == ["CARD-H1"]
    assert lh("open", id=made["trace_ref"])["entry"]["content"] == "x"
    assert kind in lh("think.reasoning.seed", type=kind)["supported_types"]


@pytest.mark.proves("MEM-140", "MEM-141", "MEM-142")
def test_a_seed_is_the_same_every_time_and_lists_the_types(lh: Lh) -> None:
    error = lh.refused("think.reasoning.seed", type="guess")
    assert error["code"] == "INVALID_INPUT"
    supported = lh("think.reasoning.seed", type="test")["supported_types"]
    for kind in supported:
        seeded = lh("think.reasoning.seed", type=kind)
        assert seeded.keys() >= {"type", "supported_types", "template", "truncated"}
        assert (seeded["type"], seeded["truncated"]) == (kind, False)
        assert seeded == lh("think.reasoning.seed", type=kind)
        template = seeded["template"]
        assert template.keys() >= {"id", "type", "title", "text", "status", "tags", "meta"}
        assert template["type"] == kind
        assert kind in error["recovery"]
        held = lh("think.reasoning.seed", type=kind, max_chars=2_000)
        assert held["template"] == template
        assert held["budget"]["max_chars"] == 2_000


def test_what_a_card_named_stays_cited_until_it_names_other_things(lh: Lh) -> None:
    seq = note(lh, "seen")
    card(lh, "CARD-A", "note")
    card(lh, "CARD-B", "note")
    first = card(lh, "CARD-E1", "evidence", text="as CARD-A says", refs=[f"notes@{seq}"])
    assert first["refs"] == [f"notes@{seq}", "CARD-A"]
    second = card(lh, "CARD-E1", "evidence", text="as CARD-B says")
    assert second["refs"] == [f"notes@{seq}", "CARD-B"]
    third = lh("think.card", card={"id": "CARD-E1", "refs": []})
    assert third["refs"] == ["CARD-B"]
    read = lh("open", id="CARD-E1")["card"]
    assert lh("think.card", card=read)["graph_applied"]["nodes_upserted"] == 0, "as it was read"
    for wrong in (5, {"a": 1}, [5]):
        error = lh.refused("think.card", card={"title": "x", "meta": {"refs": wrong}})
        assert error["code"] == "INVALID_INPUT"
