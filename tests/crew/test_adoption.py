"""Adoption: an earlier identity is continued only with evidence, and the log records why."""

from __future__ import annotations

import pytest

from tests.contracts.world import fingerprint
from tests.crew.kit import MINUTE, item, join, use
from tests.kit import Lh


@pytest.mark.proves("OPS-005", "OPS-012", "OPS-013", "OPS-046")
def test_uncommitted_changes_in_the_claimed_scope_are_evidence(lh: Lh) -> None:
    join(lh, "amber-otter")
    adopted = lh(
        "agents.adopt", agent="amber-otter", scope="src/*", uncommitted=["a.md", "src/parser.py"]
    )
    assert adopted["reason"] == "uncommitted_scope"
    event = adopted["event"]
    assert event["event_type"] == "RESUME"
    assert (event["from_agent"], event["to_agent"]) == ("amber-otter", "amber-otter")
    assert event["scope"] == "src/*"
    assert event["payload"] == {
        "resume_reason": "uncommitted_scope",
        "prior_session_agent": "amber-otter",
        "adopted_agent": "amber-otter",
        "evidence": "uncommitted changes in src/*: src/parser.py",
        "checked_by": "operator",
    }
    assert event["bead_id"] is None
    row = lh("agents.conversation", bead_id="crew")["thread"][-1]
    assert (row["type"], row["label"], row["event"]) == ("protocol", "Resumed", event)


@pytest.mark.proves("OPS-031")
@pytest.mark.parametrize("scope", ["./src//lib/../*", "src\\*", "/tmp/tree/src/*"])
def test_the_claimed_scope_counts_however_it_is_written(lh: Lh, scope: str) -> None:
    join(lh, "amber-otter")
    asked = {"agent": "amber-otter", "scope": scope, "root": "/tmp/tree"}
    assert lh.refused("agents.adopt", **asked, uncommitted=["lib/a.py"])["code"] == (
        "ADOPTION_REJECTED"
    )
    adopted = lh("agents.adopt", **asked, uncommitted=["./docs/../src/a.py"])
    assert adopted["event"]["payload"]["evidence"] == "uncommitted changes in src/*: src/a.py"


def test_the_new_session_has_a_new_token_and_the_old_one_is_void(lh: Lh) -> None:
    old = join(lh, "amber-otter")
    envelope = lh.envelope("agents.adopt", agent="amber-otter", scope="src", uncommitted=["src/a"])
    assert [one["code"] for one in envelope["warnings"]] == ["WAS_ACTIVE"]
    new = {"agent": "amber-otter", "agent_token": envelope["result"]["agent_token"]}
    assert lh("agents.heartbeat", **new)
    assert lh.refused("agents.heartbeat", **old)["code"] == "AGENT_TOKEN_REQUIRED"


def test_nobody_is_warned_who_brings_the_token_or_finds_the_identity_silent(lh: Lh) -> None:
    old = join(lh, "amber-otter")
    with_token = lh.envelope("agents.adopt", **old)
    lh.clock.advance(20 * 60_000)
    silent = lh.envelope("agents.adopt", agent="amber-otter", scope="src", uncommitted=["src/a"])
    assert (with_token["warnings"], silent["warnings"]) == ([], [])


@pytest.mark.proves("OPS-005", "OPS-012", "OPS-031")
def test_without_a_claim_the_scope_is_what_the_identity_reserved(lh: Lh) -> None:
    mine = join(lh, "amber-otter")
    lh("agents.reserve", **mine, scope="src/*", bead_id="bd-1", ttl_minutes=5)
    lh("agents.reserve", **mine, scope="lib", bead_id="bd-2", ttl_minutes=5)
    lh.clock.advance(20 * MINUTE)
    asked = {"agent": "amber-otter", "root": "/tmp/tree"}
    error = lh.refused("agents.adopt", **asked, uncommitted=["docs/a.md", "srcs/b"])
    assert error["code"] == "ADOPTION_REJECTED"
    for path, item_id in (("/tmp/tree/src/lib/a.py", "bd-1"), ("lib/b.py", "bd-2")):
        adopted = lh("agents.adopt", **asked, uncommitted=[path])
        assert (adopted["reason"], adopted["event"]["bead_id"]) == ("uncommitted_scope", item_id)


@pytest.mark.proves("OPS-006", "OPS-012", "OPS-046")
def test_an_active_work_item_of_its_own_is_evidence(lh: Lh) -> None:
    join(lh, "amber-otter")
    use(
        lh,
        item("TR-1", assignee="amber-otter", in_progress=True),
        item("TR-2", assignee="amber-otter", in_progress=True),
        item("TR-3", assignee="amber-otter"),
    )
    adopted = lh("agents.adopt", agent="amber-otter")
    assert adopted["reason"] == "in_progress_ownership"
    assert adopted["event"]["bead_id"] == "TR-1"
    assert adopted["event"]["payload"] == {
        "resume_reason": "in_progress_ownership",
        "prior_session_agent": "amber-otter",
        "adopted_agent": "amber-otter",
        "evidence": "amber-otter has 2 active work items (TR-1, TR-2)",
        "checked_by": "operator",
    }
    assert lh("agents.conversation", bead_id="TR-1")["thread"][0]["kind"] == "RESUME"


@pytest.mark.proves("OPS-006")
def test_an_item_counts_only_where_its_scope_is_the_one_at_hand(lh: Lh) -> None:
    mine = join(lh, "amber-otter")
    use(lh, item("TR-1", assignee="amber-otter", in_progress=True))
    lh("agents.reserve", **mine, scope="src/parser/*", bead_id="TR-1")
    lh("agents.release", **mine, scope="src/parser/*")
    asked = {"agent": "amber-otter"}
    assert lh.refused("agents.adopt", **asked, scope="docs")["code"] == "ADOPTION_REJECTED"
    assert lh("agents.adopt", **asked, scope="src/parser/lexer.py")["reason"]
    assert lh("agents.adopt", **asked)["reason"] == "in_progress_ownership"


@pytest.mark.proves("OPS-012")
def test_with_both_the_uncommitted_work_is_named_and_the_items_are_linked(lh: Lh) -> None:
    join(lh, "amber-otter")
    use(lh, item("TR-1", assignee="amber-otter", in_progress=True))
    adopted = lh("agents.adopt", agent="amber-otter", scope="src", uncommitted=["src/a.py"])
    assert adopted["reason"] == "uncommitted_scope"
    assert adopted["event"]["bead_id"] == "TR-1"
    assert "TR-1" in adopted["event"]["payload"]["evidence"]


@pytest.mark.proves("OPS-007", "OPS-010")
def test_without_evidence_it_is_rejected_and_nothing_changes(lh: Lh) -> None:
    mine = join(lh, "amber-otter")
    use(lh, item("TR-1", assignee="cobalt-harbor", in_progress=True))
    before = fingerprint(lh)
    for args in ({}, {"confirm": True}, {"scope": "src", "uncommitted": ["docs/a"]}):
        envelope = lh.envelope("agents.adopt", agent="amber-otter", **args)
        assert envelope["error"]["code"] == "ADOPTION_REJECTED"
        assert "no uncommitted changes in its scope" in envelope["error"]["message"]
    assert fingerprint(lh) == before
    assert lh("agents.heartbeat", **mine)
    lh.run_actions(envelope)


@pytest.mark.proves("OPS-008")
def test_a_person_may_confirm_what_nothing_shows(lh: Lh) -> None:
    join(lh, "amber-otter")
    asked = {"agent": "amber-otter", "interactive": True}
    assert "confirm=true" in lh.refused("agents.adopt", **asked)["recovery"]
    assert "confirm=true" not in lh.refused("agents.adopt", agent="amber-otter")["recovery"]
    alone = lh.refused("agents.adopt", agent="amber-otter", confirm=True)
    assert alone["code"] == "ADOPTION_REJECTED", "only where a person can be asked"
    adopted = lh("agents.adopt", **asked, confirm=True)
    assert "a person confirmed" in adopted["event"]["payload"]["evidence"]


def test_ghosts_and_the_retired_are_not_adopted(lh: Lh) -> None:
    evidence = {"scope": "src", "uncommitted": ["src/a"]}
    ghost = lh.refused("agents.adopt", agent="ghost-otter", **evidence)
    assert ghost["code"] == "AGENT_NOT_FOUND"
    lh("agents.retire", **join(lh, "amber-otter"))
    retired = lh.refused("agents.adopt", agent="amber-otter", **evidence)
    assert retired["code"] == "AGENT_NOT_FOUND"


@pytest.mark.proves("OPS-058")
def test_the_recommendation_is_the_same_for_the_same_state(lh: Lh) -> None:
    mine = join(lh, "amber-otter")
    lh("agents.reserve", **mine, scope="src/*", bead_id="bd-1")
    asked = {"known": ["amber-otter", "ghost-otter"], "uncommitted": ["src/a.py"]}
    active = lh("agents.recommend", **asked)
    assert (active["action"], active["reason"]) == (
        "register",
        "the identities with unfinished work here are still active: amber-otter",
    )
    lh.clock.advance(15 * MINUTE)
    silent = lh("agents.recommend", **asked)
    assert silent == lh("agents.recommend", **asked)
    assert (silent["action"], silent["reason"]) == (
        "choose",
        "silent with unfinished work: amber-otter (uncommitted changes in src/*: src/a.py)",
    )
    assert silent["candidates"][0]["resume_reason"] == "uncommitted_scope"
    clean = lh("agents.recommend", known=["amber-otter"])
    assert (clean["action"], clean["reason"]) == (
        "register",
        "no earlier identity has unfinished work here",
    )


@pytest.mark.proves("OPS-058")
def test_several_candidates_come_in_the_same_order_however_they_are_named(lh: Lh) -> None:
    names = ["amber-otter", "cobalt-harbor", "jade-falcon", "ruby-canyon"]
    for at, name in enumerate(names):
        lh("agents.reserve", **join(lh, name), scope=f"src/{at}/*", bead_id="bd-1")
    changed = [f"src/{at}/a.py" for at in range(4)]
    for known in (names, names[::-1], [names[2], names[0], names[3], names[1]]):
        found = lh("agents.recommend", known=known, uncommitted=changed)
        assert [one["agent_id"] for one in found["candidates"]] == names
        assert found["reason"].endswith("still active: amber-otter, cobalt-harbor, jade-falcon")


@pytest.mark.parametrize("held", ["src/*", "src", "src/a.py"])
def test_an_identity_whose_name_was_lost_is_found_by_what_it_reserved(lh: Lh, held: str) -> None:
    """A session that lost its token has also lost its name, so it cannot pass it to the server."""
    lh("agents.reserve", **join(lh, "amber-otter"), scope=held, bead_id="bd-1")
    lh("agents.reserve", **join(lh, "cobalt-harbor"), scope="docs/*", bead_id="bd-2")
    lh.clock.advance(15 * MINUTE)
    found = lh("agents.recommend", known=[], uncommitted=["src/a.py"])
    assert found["action"] == "choose"
    assert [one["agent_id"] for one in found["candidates"]] == ["amber-otter"]
    elsewhere = lh("agents.recommend", known=[], uncommitted=["lib/b.py"])["candidates"]
    assert elsewhere == []
