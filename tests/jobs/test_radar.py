"""jobs.radar: the manager's inbox, exact to the character as lines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.kit import attention, claimed, ended, events, new_job, note, running
from tests.kit import Lh, ManualClock

GOLDEN = Path(__file__).parent / "golden"
JOB_LINE = re.compile(
    r"(?P<ref>JOB-\d{3,}@\d+) (?:(?P<marker>[?!~]) )?(?P<job>JOB-\d{3,}) \((?P<status>[A-Z]+)\) "
    r"(?P<title>[^|]*) \| open id=(?P=ref)"
    r"(?P<reply> \| reply reply_job=(?P=job) reply_message=\"\.\.\.\")?\Z"
)


def beat(lh: Lh, runner_id: str, status: str = "idle", **more: Any) -> None:
    lh("jobs.runner.heartbeat", runner_id=runner_id, status=status, **more)


def golden(lh: Lh, name: str, lines: list[str]) -> None:
    """The lines match the golden file, except for the store's folder."""
    text = "\n".join(lines).replace(str(lh.house.settings.dir), "<dir>") + "\n"
    assert text == (GOLDEN / f"{name}.golden").read_text(encoding="utf-8")


@pytest.mark.proves("DEL-053", "DEL-055", "DEL-060")
def test_queued_jobs_without_a_runner_show_how_to_start_one(lh: Lh) -> None:
    new_job(lh, "Find the slow query")
    new_job(lh, "Write the release notes\nfor 2.0 | soon")
    golden(lh, "offline", lh.lines("jobs.radar"))


@pytest.mark.proves("DEL-053", "DEL-056", "DEL-057", "DEL-059", "DEL-060", "DEL-062")
def test_a_busy_workspace_as_lines(lh: Lh, clock: ManualClock) -> None:
    for title in ("asks", "failed a step", "lapsed", "works", "gated"):
        new_job(lh, title)
    fences = [claimed(lh, None, f"r{n}") for n in range(1, 6)]
    beat(lh, "r9", "live", active_job_id="JOB-003", lease_ttl_ms=1_000)
    clock.advance(180_000)
    for fence in (fences[0], fences[1], fences[3], fences[4]):
        lh("jobs.report", **fence, message="renewed")
    lh("jobs.report", **fences[0], message="which database?", kind="question")
    lh("jobs.report", **fences[1], message="exit 1", kind="error")
    lh("jobs.report", **fences[4], message="no refs", kind="proof_gate")
    new_job(lh, "waits")
    beat(lh, "r1", "live", active_job_id="JOB-001")
    beat(lh, "r2", "live")
    beat(lh, "r4", "idle", active_job_id="JOB-004")
    beat(lh, "r5", "live", active_job_id="JOB-001")
    beat(lh, "r6")
    lines = lh.lines("jobs.radar")
    golden(lh, "busy", lines)
    for wanted in re.findall(r"open id=(\S+)", "\n".join(lines)):
        assert lh("open", id=wanted)


@pytest.mark.proves("DEL-053")
def test_the_header_echoes_what_narrowed_the_view(lh: Lh) -> None:
    for _ in range(2):
        new_job(lh, task="TASK-001", anchor="a:core", workspace="other")
    lines = lh.lines(
        "jobs.radar",
        workspace="other",
        status="QUEUED",
        task="TASK-001",
        anchor="a:core",
        stale_after_s=600,
        limit=1,
    )
    golden(lh, "narrowed", lines)


@pytest.mark.proves("DEL-052")
def test_a_running_job_without_news_is_shown_as_quiet_whatever_its_heart_says(
    lh: Lh, clock: ManualClock
) -> None:
    fence = running(lh)
    lh("jobs.report", **fence, message="begun", kind="progress")

    def quiet(**args: Any) -> int | None:
        (row,) = lh("jobs.radar", **args)["jobs"]
        assert "marker" not in row["attention"]
        silence: int | None = row.get("quiet_s")
        return silence

    for _ in range(5):
        clock.advance(100_000)
        lh("jobs.report", **fence, message="alive", kind="heartbeat")
    assert (quiet(), quiet(stale_after_s=501), quiet(stale_after_s=500)) == (None, None, 500)
    clock.advance(100_000)
    assert quiet() == 600
    lh("jobs.report", **fence, message="found it", kind="progress")
    assert quiet() is None


@pytest.mark.proves("DEL-054", "DEL-055")
def test_the_way_to_start_a_runner_is_shown_only_when_it_is_missing(
    lh: Lh, clock: ManualClock
) -> None:
    assert lh.lines("jobs.radar") == ["jobs_radar count=0 runner=offline runners=none"]
    fence = running(lh)
    assert not any(line.startswith("CMD:") for line in lh.lines("jobs.radar"))
    new_job(lh)
    assert any(line.startswith("CMD:") for line in lh.lines("jobs.radar"))
    beat(lh, "r1", "idle", lease_ttl_ms=1_000)
    lines = lh.lines("jobs.radar")
    assert lines[0] == "jobs_radar count=2 runner=idle runners=live:0 idle:1 offline:0"
    assert not any(line.startswith("CMD:") for line in lines)
    clock.advance(1_000)
    lines = lh.lines("jobs.radar")
    assert lines[0] == "jobs_radar count=2 runner=offline runners=live:0 idle:0 offline:1"
    assert any(line.startswith("CMD:") for line in lines)
    lh("jobs.complete", **fence, status="DONE")


@pytest.mark.proves("DEL-047", "DEL-048", "DEL-049", "DEL-063")
def test_every_row_starts_with_a_ref_that_opens_the_newest_event(
    lh: Lh, clock: ManualClock
) -> None:
    for n in range(6):
        fence = running(lh, title=f"job {n}")
        for kind in ("progress", "question", "error", "proof_gate")[: n % 5]:
            lh("jobs.report", **fence, message="m", kind=kind)
    clock.advance(180_000)
    rows = [line for line in lh.lines("jobs.radar") if line.startswith("JOB-")]
    assert len(rows) == 6
    for row in rows:
        found = JOB_LINE.match(row)
        assert found, row
        opened = lh("open", id=found["ref"])
        assert opened["job"]["id"] == found["job"]
        assert opened["event"]["ref"] == events(lh, found["job"])[-1]["ref"]
        assert row.count("| open id=") == 1


@pytest.mark.proves("DEL-063")
@pytest.mark.parametrize("where", ["question", "title", "waiting"])
def test_no_text_of_a_job_breaks_its_row(lh: Lh, where: str) -> None:
    forged = "JOB-999@1 ? JOB-999 (RUNNING) forged | open id=JOB-999@1"
    text = f"which?\r\n{forged}\x85\u2028\x1b[2K\n{forged} | open id=JOB-998"
    if where == "waiting":
        first = new_job(lh, title=text)
        new_job(lh, after=[first])
    else:
        fence = running(lh, title=text if where == "title" else "the job")
        asked = text if where == "question" else "which?"
        lh("jobs.report", **fence, message=asked, kind="question")
    lines = lh.lines("jobs.radar")
    rows = [line for line in lines if line.startswith("JOB-")]
    assert len(rows) == (2 if where == "waiting" else 1)
    assert not any(line.startswith("JOB-999") for line in lines)
    for row in rows:
        assert row.count(" | open id=") == 1
        assert not set(row) & set("\n\r\x1b\x85\u2028")
        ref = row.split(" ", 1)[0]
        assert f" | open id={ref}" in row


@pytest.mark.proves("DEL-045", "DEL-112", "DEL-062")
def test_the_reply_that_a_row_shows_resolves_what_it_asks(lh: Lh) -> None:
    fence = running(lh)
    lh("jobs.report", **fence, message="which one?", kind="question")
    row = lh.lines("jobs.radar")[-1]
    found = re.search(r"\| reply reply_job=(\S+) reply_message=\"\.\.\.\"\Z", row)
    assert found
    answer = lh("jobs.radar", reply_job=found[1], reply_message="the first one")
    assert answer["reply"]["kind"] == "manager"
    assert answer["jobs"][0]["attention"]["needs_manager"] is False
    assert events(lh, fence["job"])[-1]["message"] == "the first one"
    assert "reply" not in lh.lines("jobs.radar")[-1]


@pytest.mark.parametrize(
    "args, code",
    [
        ({"reply_job": "JOB-001"}, "INVALID_INPUT"),
        ({"reply_message": "m"}, "INVALID_INPUT"),
        ({"reply_job": "JOB-404", "reply_message": "m"}, "UNKNOWN_ID"),
        ({"reply_job": "JOB-002", "reply_message": "m"}, "CONFLICT"),
    ],
)
def test_a_reply_that_cannot_be_given_is_refused(lh: Lh, args: dict[str, str], code: str) -> None:
    new_job(lh)
    lh("jobs.cancel", job=new_job(lh))
    assert lh.refused("jobs.radar", **args)["code"] == code


def test_a_viewer_may_look_and_not_reply(lh: Lh) -> None:
    from longhouse.kernel.registry import Role

    new_job(lh)
    viewer = lh.as_role(Role.VIEWER)
    assert lh.house.call("jobs.radar", {}, viewer).success
    reply = {"reply_job": "JOB-001", "reply_message": "m"}
    assert lh.house.call("jobs.radar", reply, viewer).code == "FORBIDDEN"


@pytest.mark.proves("DEL-040")
def test_the_radar_shows_active_jobs_those_that_need_someone_first(
    lh: Lh, clock: ManualClock
) -> None:
    ended(lh)
    ended(lh, "FAILED")
    running(lh, title="lapsed")
    clock.advance(180_000)
    new_job(lh, "queued")
    running(lh, title="runs")
    for title, kind in (("gated", "proof_gate"), ("asks", "question"), ("erred", "error")):
        lh("jobs.report", **running(lh, title=title), message="m", kind=kind)
    found = lh("jobs.radar")["jobs"]
    assert [row["title"] for row in found] == [
        "asks",
        "gated",
        "erred",
        "lapsed",
        "runs",
        "queued",
    ]
    flags = ("needs_manager", "needs_proof", "has_error", "stale")
    assert [[flag for flag in flags if row["attention"][flag]] for row in found] == [
        ["needs_manager"],
        ["needs_proof"],
        ["has_error"],
        ["stale"],
        [],
        [],
    ]


def test_a_lapsed_claim_comes_forward_however_many_jobs_run(lh: Lh, clock: ManualClock) -> None:
    for n in range(40):
        running(lh, title=f"job {n}")
    clock.advance(179_000)
    for n in range(40):
        if n != 35:
            fence = {"job": f"JOB-{n + 1:03d}", "runner_id": "r1", "claim_revision": 1}
            lh("jobs.report", **fence, message="m", kind="heartbeat")
    clock.advance(1_000)
    assert lh("jobs.radar", limit=5)["jobs"][0]["title"] == "job 35"


@pytest.mark.parametrize("status", ["QUEUED", "RUNNING", "DONE", "FAILED", "CANCELED"])
def test_the_radar_of_one_status_shows_that_one(lh: Lh, status: str) -> None:
    new_job(lh, "QUEUED")
    for title in ("DONE", "FAILED"):
        ended(lh, title, title=title)
    lh("jobs.cancel", job=new_job(lh, "CANCELED"))
    running(lh, title="RUNNING")
    found = lh("jobs.radar", status=status)["jobs"]
    assert [row["title"] for row in found] == [status]
    assert (found[0]["attention"].get("marker") == "!") == (status == "FAILED")


@pytest.mark.proves("DEL-046")
@pytest.mark.parametrize("chars", [6_000, 1_000, 500, 300, 120, 10])
def test_however_tight_the_budget_every_row_shown_is_whole(lh: Lh, chars: int) -> None:
    for n in range(30):
        fence = running(lh, title=f"job {n} " + "x" * 60)
        lh("jobs.report", **fence, message="?", kind="question")
    lines = lh.lines("jobs.radar", limit=30, max_chars=chars)
    assert lines[0].startswith("jobs_radar count=30")
    rows = [line for line in lines if line.startswith("JOB-")]
    assert rows or chars < 300  # less than one row takes
    assert all(JOB_LINE.match(row) for row in rows)
    answer = lh.envelope("jobs.radar", limit=30, max_chars=chars)
    shown = answer["result"].get("jobs", [])
    assert shown or chars < 1_000
    for row in shown:
        assert lh("open", id=row["ref"])
    assert any(w["code"] == "BUDGET_TRUNCATED" for w in answer["warnings"])


@pytest.mark.proves("DEL-056", "DEL-057", "DEL-058", "DEL-059")
def test_runner_offline_and_conflict_lines_are_bounded(lh: Lh, clock: ManualClock) -> None:
    for n in range(20):
        beat(lh, f"off{n:02d}", lease_ttl_ms=1_000)
    clock.advance(1_000)
    for n in range(20):
        beat(lh, f"on{n:02d}", "live")
    running(lh, "silent")
    lines = lh.lines("jobs.radar")
    assert sum(line.startswith("runner live") for line in lines) == 10
    assert sum(line.startswith("runner offline") for line in lines) == 3
    assert sum(line.startswith("! diag live_missing_active_job") for line in lines) == 5
    assert "runner offline off00 last=idle | open id=runner:off00" in lines
    assert not any("silent" in line for line in lines if line.startswith("runner"))
    wide = lh("jobs.radar", runners_limit=50, offline_limit=50)
    assert wide["runner_leases"]["count"] == wide["runner_leases_offline"]["count"] == 20


@pytest.mark.proves("DEL-059")
@pytest.mark.parametrize(
    "status, active, kind",
    [
        ("live", None, "! diag live_missing_active_job runner=rx | open id=runner:rx"),
        (
            "idle",
            "JOB-001",
            "! diag idle_has_active_job runner=rx job=JOB-001"
            " | open id=runner:rx | open id=JOB-001",
        ),
        ("live", "JOB-404", "! diag active_job_unknown runner=rx job=JOB-404 | open id=runner:rx"),
        (
            "live",
            "JOB-002",
            "! diag active_job_not_running runner=rx job=JOB-002"
            " | open id=runner:rx | open id=JOB-002",
        ),
        (
            "live",
            "JOB-003",
            "! diag job_runner_mismatch runner=rx job=JOB-003"
            " | open id=runner:rx | open id=JOB-003",
        ),
        ("live", "JOB-001", None),
        ("idle", None, None),
    ],
)
def test_contradictions_between_leases_and_claims_are_named(
    lh: Lh, status: str, active: str | None, kind: str | None
) -> None:
    running(lh, "rx")
    new_job(lh)
    claimed(lh, new_job(lh), "other")
    beat(lh, "rx", status, **({"active_job_id": active} if active else {}))
    found = [line for line in lh.lines("jobs.radar") if " diag " in line]
    assert found == ([kind] if kind else [])


def test_a_claim_made_by_hand_has_no_runner_that_could_be_offline(
    lh: Lh, clock: ManualClock
) -> None:
    new_job(lh)
    new_job(lh)
    lh("jobs.claim", job="JOB-001", runner_id="a-person")
    beat(lh, "r1", lease_ttl_ms=60_000)
    lh("jobs.claim", job="JOB-002", runner_id="r1")
    clock.advance(90_000)
    states = {row["id"]: row.get("runner_state") for row in lh("jobs.radar")["jobs"]}
    assert states == {"JOB-001": None, "JOB-002": "offline"}
    assert not any("a-person" in line for line in lh.lines("jobs.radar") if "offline" in line)


@pytest.mark.proves("DEL-059", "DEL-058")
def test_a_job_whose_runner_went_offline_is_named_while_its_claim_holds(
    lh: Lh, clock: ManualClock
) -> None:
    running(lh, "r1")
    beat(lh, "r1", "live", active_job_id="JOB-001", lease_ttl_ms=1_000)
    clock.advance(1_000)
    assert (
        "~ diag job_runner_offline runner=r1 job=JOB-001 | open id=runner:r1 | open id=JOB-001"
        in (lh.lines("jobs.radar"))
    )
    clock.advance(180_000)
    assert any("~ diag job_claim_expired" in line for line in lh.lines("jobs.radar"))


def test_a_job_that_every_runner_here_declined_is_shown_until_another_comes(lh: Lh) -> None:
    for runner_id in ("r1", "r2"):
        beat(lh, runner_id)
    job = new_job(lh, "Look")
    trouble = f"! diag job_declined_by_all job={job} | open id={job} | requeue job={job}"
    for runner_id in ("r1", "r2"):
        assert trouble not in lh.lines("jobs.radar")
        revision = lh("jobs.claim", job=job, runner_id=runner_id)["job"]["revision"]
        lh(
            "jobs.release",
            job=job,
            runner_id=runner_id,
            claim_revision=revision,
            reason="no Codex",
            decline=True,
        )
    assert trouble in lh.lines("jobs.radar")
    beat(lh, "r3")
    assert trouble not in lh.lines("jobs.radar")


def test_the_golden_op_reads_as_lines_too(lh: Lh) -> None:
    new_job(lh)
    cmd, args = lh.house.dispatcher.call_portal("jobs", {"op": "radar", "args": {"fmt": "lines"}})
    assert lh.house.call(cmd, args).text == "\n".join(lh.lines("jobs.radar"))


def test_the_radar_writes_nothing(lh: Lh) -> None:
    fence = running(lh)
    lh("jobs.report", **fence, message="m", kind="question")
    ref = note(lh)
    lh.lines("jobs.radar")
    lh("jobs.radar")
    assert lh("status")["seq"] == int(ref.partition("@")[2])
    assert attention(lh, fence["job"])["needs_manager"]


def test_a_row_that_asks_shows_the_question_its_ref_and_the_reply(lh: Lh) -> None:
    fence = running(lh)
    asked = lh("jobs.report", **fence, message="Which store is meant?", kind="question")["event"]
    lh("jobs.report", **fence, message="going on meanwhile")
    (row,) = lh("jobs.radar")["jobs"]
    assert row["question"]["text"] == "Which store is meant?"
    assert lh("open", id=row["question"]["ref"])["event"]["seq"] == asked["seq"]
    assert f"asks {row['question']['ref']}: Which store is meant?" in lh.lines("jobs.radar")[-1]
    reply = row["question"]["reply"]
    assert reply["missing"] == ["reply_message"]  # nobody has written it yet
    assert not lh.portal(reply["tool"], **reply["args"]).success
    reply["args"]["args"]["reply_message"] = "The small one."
    assert lh.portal(reply["tool"], **reply["args"]).success
    assert "question" not in lh("jobs.radar")["jobs"][0]


def test_a_job_that_needs_someone_tells_how_many_queued_jobs_it_would_free(lh: Lh) -> None:
    first = new_job(lh, "first")
    fence = claimed(lh, first, "r1")
    second = new_job(lh, "second", after=[first])
    new_job(lh, "third", after=[second])
    gone = new_job(lh, "gone", after=[first])
    lh("jobs.cancel", job=gone)
    rows = {row["id"]: row for row in lh("jobs.radar")["jobs"]}
    assert rows[first].get("frees", 0) == 0
    lh("jobs.question", **fence, message="which?")
    rows = {row["id"]: row for row in lh("jobs.radar")["jobs"]}
    assert rows[first]["frees"] == 2
    assert rows[second].get("frees", 0) == 0
