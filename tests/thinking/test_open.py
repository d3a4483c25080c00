"""`open` on cards, citations, what depends on a card, and cards as proof."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.test_budgets import BUDGETS, measured
from tests.kit import Lh
from tests.memory.kit import note
from tests.thinking.kit import card, ids, task


@pytest.mark.proves("MEM-048", "MEM-150")
@pytest.mark.parametrize("card_id", ["CARD-123", "CARD-AUTO", "CARD-PUB-CARD-H1", None])
def test_a_card_is_opened_by_its_id_wherever_it_is(lh: Lh, card_id: str | None) -> None:
    made = task(lh)
    where = {"target": made["id"]}
    card(lh, "CARD-B", "hypothesis", **where)
    card(lh, "CARD-S", "hypothesis", **where)
    card(lh, "CARD-H1", "decision", title="What was published", **where)
    written = card(
        lh,
        card_id,
        "test",
        title="T",
        text="how",
        tags=["x"],
        meta={"k": 1},
        supports=["CARD-S"],
        blocks=["CARD-B"],
        **where,
    )
    card(lh, "CARD-IN", "evidence", supports=[written["card_id"]], **where)
    opened = lh("open", id=written["card_id"])
    assert opened["kind"] == "card"
    assert opened["id"] == written["card_id"]
    assert opened["head"] == {
        "seq": lh("think.query", ids=[written["card_id"]], **where)["cards"][0]["last_seq"],
        "ts": "2027-01-15T08:00:00.000Z",
        "ts_ms": lh.clock.now_ms(),
        "branch": f"task/{made['id']}",
        "doc": f"{made['id']}-graph",
    }
    assert opened["card"] == {
        "id": written["card_id"],
        "type": "test",
        "title": "T",
        "text": "how",
        "status": "open",
        "tags": ["x"],
        "meta": {"k": 1},
    }
    assert opened["edges"] == {
        "supports": ["CARD-S"],
        "blocks": ["CARD-B"],
        "supported_by": ["CARD-IN"],
    }
    assert opened["truncated"] is False


def test_a_card_that_is_not_there_is_refused_with_a_way_on(lh: Lh) -> None:
    refused = lh.envelope("open", id="CARD-fake1")
    assert refused["error"]["code"] == "UNKNOWN_ID"
    assert lh.run_actions(refused)
    lh("graph.apply", ops=[{"op": "node_upsert", "id": "CARD-N", "type": "service"}])
    assert lh.refused("open", id="CARD-N")["code"] == "UNKNOWN_ID", "a node is not a card"
    card(lh, "CARD-H1", "hypothesis")
    lh("graph.apply", ops=[{"op": "node_delete", "id": "CARD-H1"}])
    assert lh.refused("open", id="CARD-H1")["code"] == "UNKNOWN_ID"


@pytest.mark.parametrize("ref", ["CARD-H1", "a:cache"])
def test_what_is_opened_holds_every_budget(lh: Lh, ref: str) -> None:
    card(lh, "CARD-H1", "hypothesis", text="x" * 5000, tags=["a:cache"], meta={"m": "y" * 900})
    for number in range(20):
        card(lh, f"CARD-E{number}", "evidence", refs=["CARD-H1"], tags=["a:cache"], text="z" * 200)
    for max_chars in [budget for budget in BUDGETS if budget <= 20_000]:
        result = lh("open", id=ref, max_chars=max_chars)
        assert result["id"] == ref
        used = len(measured(result).decode())
        assert used == result["budget"]["used_chars"] <= result["budget"]["max_chars"]


def test_a_record_says_which_cards_cite_it(lh: Lh) -> None:
    seq = note(lh, "The log says so.")
    made = task(lh)
    job = lh("jobs.create", title="Look", prompt="Look.")["job"]["id"]
    step = made["steps"][0]["step_id"]
    card(lh, "CARD-H1", "hypothesis")
    refs = [f"notes@{seq}", made["id"], job, "https://example.org/log"]
    written = card(lh, "CARD-E1", "evidence", title="Seen", refs=refs, text=f"As CARD-H1, {step}.")
    assert written["refs"] == [*refs, "CARD-H1", step]
    for ref in (f"notes@{seq}", made["id"], job, "CARD-H1", step):
        (cited,) = lh("open", id=ref)["cited_by"]
        assert cited == {
            "ref": "CARD-E1",
            "kind": "evidence",
            "title": "Seen",
            "status": "open",
        }
    assert "cited_by" not in lh("open", id="CARD-E1")
    card(lh, "CARD-E1", "evidence", title="Seen", refs=[made["id"]], text="no more")
    assert "cited_by" not in lh("open", id="CARD-H1"), "the index is only a hint"
    assert lh("open", id=made["id"])["cited_by"][0]["ref"] == "CARD-E1"


def test_a_mention_of_what_is_not_there_is_no_citation(lh: Lh) -> None:
    assert "refs" not in card(lh, "CARD-E1", "evidence", text="See CARD-NONE and notes@99.")
    for ref in ("CARD-NONE", "STEP-000000FF"):
        error = lh.refused("think.card", card={"title": "x", "refs": [ref]})
        assert (error["code"], ref in error["message"]) == ("UNKNOWN_ID", True)


def finish(lh: Lh, job: str, refs: list[str]) -> dict[str, Any]:
    claimed = lh("jobs.claim", job=job, runner_id="r1")["job"]
    return lh.envelope(
        "jobs.complete",
        job=job,
        runner_id="r1",
        claim_revision=claimed["revision"],
        status="DONE",
        refs=refs,
    )


def test_an_invented_card_ends_no_job_and_a_real_one_does(lh: Lh) -> None:
    job = lh("jobs.create", title="Look", prompt="Look.")["job"]["id"]
    refused = finish(lh, job, ["CARD-fake1"])
    assert refused["error"]["code"] == "UNKNOWN_ID"
    assert lh("open", id=job)["job"]["status"] == "RUNNING"
    card(lh, "CARD-E1", "evidence", title="Seen")
    done = lh(
        "jobs.complete",
        job=job,
        runner_id="r1",
        claim_revision=lh("jobs.open", job=job)["job"]["revision"],
        status="DONE",
        refs=["CARD-E1"],
    )
    assert done["job"]["status"] == "DONE"
    (cited,) = lh("open", id="CARD-E1")["cited_by"]
    assert (cited["kind"], cited["ref"]) == ("job", done["event"]["ref"])


def test_an_invented_card_proves_no_step_and_a_real_one_does(lh: Lh) -> None:
    made = task(lh)
    args = {"task": made["id"], "path": "s:0", "checkpoint": "tests"}
    shown = [{"kind": "ref", "text": "CARD-fake1"}]
    assert lh.refused("tasks.evidence.capture", items=shown, **args)["code"] == "INVALID_INPUT"
    card(lh, "CARD-E1", "evidence", title="Seen")
    lh("tasks.evidence.capture", items=[{"kind": "ref", "text": "CARD-E1"}], **args)
    (cited,) = lh("open", id="CARD-E1")["cited_by"]
    assert (cited["kind"], cited["title"]) == ("proof", "Step 0")
    assert lh("open", id=cited["ref"])["kind"] == "task_event"


def test_a_blast_names_all_that_rests_on_a_card(lh: Lh) -> None:
    made = task(lh)
    card(lh, "CARD-E1", "evidence", title="Seen")
    card(lh, "CARD-H1", "hypothesis", title="So")
    lh("think.link", **{"from": "CARD-E1", "rel": "supports", "to": "CARD-H1"})
    card(lh, "CARD-D1", "decision", title="Do it", supports=["CARD-H1"], status="accepted")
    card(lh, "CARD-D2", "decision", title="Do more")
    lh("think.link", **{"from": "CARD-D1", "rel": "supports", "to": "CARD-D2"})
    card(lh, "CARD-N1", "note", title="About it", refs=["CARD-D1"], target=made["id"])
    card(lh, "CARD-X", "evidence", title="Against", blocks=["CARD-H1"])
    items = [{"kind": "ref", "text": "CARD-D1"}]
    lh("tasks.evidence.capture", task=made["id"], path="s:0", items=items)
    answer = lh.envelope("think.set.status", status="refuted", targets=["CARD-E1"])
    (offered,) = lh.run_actions(answer)
    blast = offered.envelope["result"]
    assert blast == lh("think.blast", card="CARD-E1")
    assert blast["card"]["status"] == "refuted"
    found = {one["ref"]: (one["kind"], one["via"]) for one in blast["rests"]}
    proof = next(ref for ref, (kind, _) in found.items() if kind == "proof")
    assert proof.startswith(made["id"])
    assert found == {
        "CARD-H1": ("hypothesis", "supports:CARD-E1"),
        "CARD-D1": ("decision", "supports:CARD-H1"),
        "CARD-D2": ("decision", "supports:CARD-D1"),
        "CARD-N1": ("note", "cites:CARD-D1"),
        proof: ("proof", "cites:CARD-D1"),
    }
    assert blast["counts"] == {"decision": 2, "hypothesis": 1, "note": 1, "proof": 1}
    assert lh.refused("think.blast", card="CARD-NONE")["code"] == "UNKNOWN_ID"


def test_a_blast_in_a_circle_ends(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis")
    card(lh, "CARD-H2", "hypothesis", supports=["CARD-H1"])
    lh("think.link", **{"from": "CARD-H1", "rel": "supports", "to": "CARD-H2"})
    assert [one["ref"] for one in lh("think.blast", card="CARD-H1")["rests"]] == ["CARD-H2"]


def test_a_card_on_a_branch_is_opened_where_it_was_written_last(lh: Lh) -> None:
    lh("system.init")
    card(lh, "CARD-H1", "hypothesis", title="on main")
    lh("vcs.branch.create", name="idea/a")
    assert ids(lh("think.context", branch="idea/a")["cards"]) == ["CARD-H1"]
    card(lh, "CARD-H1", "hypothesis", title="on the branch", branch="idea/a")
    assert lh("open", id="CARD-H1")["head"]["branch"] == "idea/a"
    assert lh("think.context")["cards"][0]["title"] == "on main"
    before = lh("open", id="CARD-H1")
    again = card(lh, "CARD-H1", "hypothesis", title="on main")
    assert again["trace_ref"] is not None
    assert lh("open", id="CARD-H1") == before
