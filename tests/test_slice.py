"""The thin slice: a note and a job, through the dispatcher."""

from tests.kit import Lh


def test_a_note_is_read_back_from_the_tail(lh: Lh) -> None:
    lh("vcs.notes.commit", content="first")
    ref = lh("vcs.notes.commit", content="second", title="T")["ref"]
    page = lh("docs.show", doc_kind="notes", limit=1)
    assert [e["content"] for e in page["entries"]] == ["second"]
    assert page["pagination"]["has_more"]
    assert lh("open", id=ref)["entry"]["title"] == "T"


def test_a_job_goes_from_queued_to_done_under_one_claim(lh: Lh) -> None:
    job = lh("jobs.create", title="Look", prompt="Look at it.")["job"]["id"]
    claim = lh("jobs.claim", job=job, runner_id="r1")["job"]
    fence = {"job": job, "runner_id": "r1", "claim_revision": claim["revision"]}
    lh("jobs.report", **fence, message="half")
    assert lh("jobs.complete", **fence, status="DONE", summary="ok")["job"]["status"] == "DONE"
    assert lh.refused("jobs.report", **fence, message="late")["code"] == "CONFLICT"
