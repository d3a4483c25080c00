"""One grammar of refs: the server, the runner, cards and texts agree on every kind there is."""

from __future__ import annotations

import pytest

from longhouse.kernel.refs import RefKind, ref_grammar
from longhouse.runner.slice_proof import stable_refs
from longhouse.work.proof import evidence_from_line
from tests.desk.test_open import world
from tests.jobs.kit import running
from tests.kit import Lh

KINDS = ref_grammar().kinds
each_kind = pytest.mark.parametrize("kind", KINDS, ids=[one.kind for one in KINDS])


def test_the_shipped_grammar_is_what_the_rooms_declare(lh: Lh) -> None:
    assert [one.ref for one in lh.house.registry.openers] == list(KINDS)


@each_kind
def test_an_example_is_of_its_kind_and_no_other(kind: RefKind) -> None:
    grammar = ref_grammar()
    assert kind in grammar.kinds_of(kind.example)
    assert all(one.general == kind.general for one in grammar.kinds_of(kind.example))


@each_kind
def test_an_example_is_found_in_a_sentence_and_not_within_a_word(kind: RefKind) -> None:
    ref, found = kind.example, ref_grammar().find
    expected = [ref] if kind.mention or kind.general else []
    for text in (ref, f"See {ref}.", f"({ref}), then", f"**{ref}**: done", f"a\n{ref}\nb"):
        assert found(text) == expected, text
    for text in (f"x{ref}", f"https://host/{ref}", f"<{ref}>", f"{ref}.py", f"{ref}0x@"):
        assert ref not in found(text), text


@each_kind
def test_server_and_runner_name_the_same_kinds_as_proof(kind: RefKind) -> None:
    assert stable_refs([kind.example], "JOB-999") == ([kind.example] if kind.proves else [])


@each_kind
def test_a_pasted_example_is_evidence_and_not_a_note(kind: RefKind) -> None:
    evidence = evidence_from_line(f"- {kind.example}")
    assert evidence is not None
    assert evidence.kind == ("job" if kind.kind == "job" else "ref")


def test_what_proves_for_the_runner_proves_for_the_server(lh: Lh) -> None:
    made = [ref for ref in world(lh) if not ref.startswith("acme:")]
    for ref in made:
        fence = running(lh, require_proof=True)
        answer = lh.envelope("jobs.complete", **fence, status="DONE", summary="x", refs=[ref])
        if ref_grammar().is_a("process", ref):
            continue  # whether it succeeded is known to the server alone
        assert answer["success"] == bool(stable_refs([ref], fence["job"])), ref


def test_a_card_appears_on_everything_that_it_cites(lh: Lh) -> None:
    made = [ref for ref in world(lh) if not ref.startswith("acme:")]
    card = lh("think.card", card={"title": "Sums it up", "refs": made})["card_id"]
    for ref in made:
        citers = [one["ref"] for one in lh("open", id=ref).get("cited_by", [])]
        assert (card in citers) == ref_grammar().may_cite(ref), ref


def test_a_hostile_text_is_searched_in_linear_time() -> None:
    for text in ("a@" * 200_000, "CARD-" * 100_000, "CARD-" + "a." * 200_000 + ">", "-" * 400_000):
        ref_grammar().find(text)
