"""Jobs: the radar, one job with its thread and its fence, and every action on a job."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Visit, World, axe, send

PATCH = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old = 1\n+new = 1\n"


def test_a_job_is_followed_and_steered_from_its_own_address(world: World, visit: Visit) -> None:
    held = world.claimed("Port the parser")
    page = visit("/jobs/JOB-001")
    thread = page.get_by_role("list", name="Events")
    expect(thread.get_by_role("listitem")).to_have_count(2)
    world("jobs.report", **held, message="half of it reads", percent=50)
    expect(thread.get_by_text("half of it reads")).to_be_visible()
    page.get_by_label("Answer JOB-001").fill("Keep the old API.")
    page.get_by_role("button", name="Answer").click()
    expect(thread.get_by_text("Keep the old API.")).to_be_visible()
    expect(page.get_by_label("Answer JOB-001")).to_have_value("")


@pytest.mark.parametrize(
    "outcome, says",
    [
        ("applied", "finished it, and its changes were applied"),
        ("dropped", "finished it, but its changes were dropped"),
    ],
)
def test_the_fence_says_what_became_of_changes_that_waited(
    world: World, visit: Visit, outcome: str, says: str
) -> None:
    held = world.claimed()
    done = {"status": "DONE", "summary": "Ported.", "refs": ["CMD: x"]}
    world("jobs.complete", **held, **done, changes="They do not apply.")
    page = visit("/jobs/JOB-001")
    earlier = page.get_by_role("list", name="Earlier holders").get_by_role("listitem")
    expect(earlier).to_contain_text("finished, but its changes were not applied")
    world("jobs.apply", job="JOB-001", outcome=outcome)
    expect(earlier).to_contain_text(says)
    expect(earlier).not_to_contain_text("not applied")


def test_the_fence_shows_the_holder_its_claim_who_held_it_before_and_late_writes(
    world: World, visit: Visit
) -> None:
    lost = world.claimed()
    world("jobs.cancel", job="JOB-001", reason="wrong branch")
    world("jobs.requeue", job="JOB-001")
    world("jobs.release", **world.reclaimed("rust-2"), reason="too hot here")
    held = world.reclaimed("rust-3")
    page = visit("/jobs/JOB-001")
    fence = page.get_by_role("region", name="Who holds it")
    expect(fence).to_contain_text("rust-3")
    expect(fence).to_contain_text(f"Claim{held['claim_revision']}")
    expect(fence).to_contain_text("min left")
    earlier = fence.get_by_role("list", name="Earlier holders").get_by_role("listitem")
    expect(earlier.first).to_contain_text("rust-2 released it")
    expect(earlier.last).to_contain_text("rust-1 lost it: the job was canceled")
    refusal = world.house.post(
        "jobs.report", workspace=world.workspace, **lost, message="I am back."
    ).json()
    assert refusal["error"]["code"] == "CONFLICT"
    late = fence.get_by_role("list", name="Refused late writes").get_by_role("listitem")
    expect(late).to_contain_text("a report of progress by rust-1, with the lost claim 1")
    assert axe(page) == []


def test_a_question_is_one_line_without_markdown_marks_in_the_list_and_in_history(
    world: World, visit: Visit
) -> None:
    asked = "**Keep the tabs** in `lexer.py`?"
    world("jobs.report", **world.claimed(), kind="question", message=asked)
    page = visit("/jobs")
    expect(page.get_by_text("rust-1 · Keep the tabs in lexer.py?")).to_be_visible()
    page.get_by_role("link", name="History").click()
    expect(page.get_by_text("Keep the tabs in lexer.py?", exact=True)).to_be_visible()


def test_an_address_of_an_unknown_job_says_so_and_what_to_do(world: World, visit: Visit) -> None:
    page = visit("/jobs/JOB-099")
    expect(page.get_by_role("alert")).to_have_text(
        "job: there is no JOB-099. To fix this: list jobs with jobs.list."
    )


def test_what_jobs_cost_is_drawn_by_day_and_told_by_agent_and_task(
    world: World, visit: Visit
) -> None:
    usage = {"agent": "codex", "input_tokens": 4_000, "output_tokens": 200, "cost_usd": 0.5}
    world("jobs.report", **world.claimed(), message="half of it", usage=usage)
    page = visit("/jobs")
    page.get_by_role("button", name="Today: 4,200 tokens, $0.500").click()
    spend = page.get_by_role("region", name="Usage of jobs")
    expect(spend.get_by_role("img", name="$0.500 in 30 days; today $0.500")).to_be_visible()
    expect(spend.get_by_role("row", name="codex 1 4,200 $0.500")).to_be_visible()
    assert axe(page) == []


def test_a_job_is_canceled_only_after_a_second_word_and_queued_again(
    world: World, visit: Visit
) -> None:
    world.claimed()
    page = visit("/jobs/JOB-001")
    page.get_by_role("button", name="Cancel job").click()
    assert world("jobs.open", job="JOB-001")["job"]["status"] == "RUNNING"
    send(page, page.get_by_role("button", name="Really cancel?"), "jobs.cancel")
    expect(page.get_by_role("button", name="Requeue")).to_be_visible()
    assert world("jobs.open", job="JOB-001")["job"]["status"] == "CANCELED"
    page.get_by_role("button", name="Requeue").click()
    expect(page.get_by_role("button", name="Edit")).to_be_visible()


def test_a_queued_job_is_edited_and_keeps_what_it_was_before(world: World, visit: Visit) -> None:
    world("jobs.create", title="Port it", prompt="Port the parser.")
    page = visit("/jobs/JOB-001")
    page.get_by_role("button", name="Edit").click()
    title = page.get_by_label("Title")
    title.fill("")
    expect(title).to_have_value("")
    title.fill("Port all of it")
    page.get_by_label("Prompt").fill("Port the parser and its tests.")
    page.get_by_label("Priority").select_option("HIGH")
    send(page, page.get_by_role("button", name="Save"), "jobs.update")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_text("high priority")).to_be_visible()
    view = world("jobs.open", job="JOB-001", include_prompt=True)
    assert view["prompt"] == "Port the parser and its tests."
    assert view["job"]["title"] == "Port all of it"


def test_a_diff_is_shown_in_place_and_its_digest_checked_in_the_browser(
    world: World, visit: Visit
) -> None:
    ref = world("docs.artifact.add", name="fix.patch", content=PATCH)["ref"]
    world("jobs.report", **world.claimed(), message="see the patch", refs=[ref])
    page = visit("/jobs/JOB-001")
    page.get_by_role("button", name=ref).click()
    expect(page.locator('[data-sort="added"]')).to_have_text("+new = 1\n")
    expect(page.locator('[data-sort="removed"]')).to_have_text("-old = 1\n")
    page.get_by_role("button", name="Verify digest").click()
    expect(page.get_by_text("Digest verified")).to_be_visible()


CHANGES = """diff --git a/x.sql b/x.sql
--- a/x.sql
+++ b/x.sql
@@ -1,4 +1,4 @@
 SELECT 1;
--- old = 1
-second
++++ new = 1
+third
 SELECT 2;
\\ No newline at end of file
"""


def test_a_wide_screen_shows_what_was_beside_what_is(world: World, visit: Visit) -> None:
    ref = world("docs.artifact.add", name="fix.patch", content=CHANGES)["ref"]
    world("jobs.report", **world.claimed(), message="Changed", refs=[ref])
    page = visit("/jobs/JOB-001")
    page.set_viewport_size({"width": 1700, "height": 900})
    page.get_by_role("button", name=ref).click()
    rows = page.get_by_role("row")
    expect(rows.filter(has_text="new = 1").get_by_role("cell")).to_have_text(
        ["-- old = 1", "+++ new = 1"]
    )
    expect(rows.filter(has_text="third").get_by_role("cell")).to_have_text(["second", "third"])
    expect(rows.filter(has_text="SELECT 2").get_by_role("cell")).to_have_text(["SELECT 2;"] * 2)
    page.get_by_role("button", name="Unified").click()
    expect(page.get_by_role("table")).to_have_count(0)
    expect(page.get_by_text("+third")).to_be_visible()
    page.set_viewport_size({"width": 360, "height": 720})
    expect(page.get_by_role("button", name="Side by side")).to_have_count(0)
    expect(page.get_by_text("+third")).to_be_visible()


def test_a_long_artifact_is_read_on_to_its_end_and_then_checked(world: World, visit: Visit) -> None:
    text = PATCH + "".join(f"+line {number} ü\n" for number in range(6_000))
    ref = world("docs.artifact.add", name="long.patch", content=text)["ref"]
    world("jobs.report", **world.claimed(), message="see the patch", refs=[ref])
    page = visit("/jobs/JOB-001")
    page.get_by_role("button", name=ref).click()
    expect(page.get_by_text("show all of it to verify the digest")).to_be_visible()
    page.get_by_role("button", name="Show more").click()
    expect(page.locator('[data-sort="added"]')).to_have_count(6_001)
    page.get_by_role("button", name="Verify digest").click()
    expect(page.get_by_text("Digest verified")).to_be_visible()


def test_jobs_are_listed_by_state_and_a_long_list_draws_only_what_is_seen(
    world: World, visit: Visit
) -> None:
    world("jobs.complete", **world.claimed("Lint"), status="FAILED", summary="No Node here.")
    for number in range(80):
        world("jobs.create", title=f"Job {number}", prompt="x")
    page = visit("/jobs")
    expect(page.get_by_role("link", name="Job 0")).to_be_visible()
    assert page.locator("#main li").count() < 40
    page.get_by_role("button", name="Failed").click()
    page.get_by_role("link", name="Lint").click()
    expect(page.get_by_role("region", name="Job JOB-001")).to_contain_text("No Node here.")
    assert "status=FAILED" in page.url


def test_an_operator_sees_where_the_work_of_the_workspace_is_done(
    world: World, visit: Visit
) -> None:
    world("jobs.create", title="Look", prompt="At it.")
    page = visit("/jobs")
    expect(page.get_by_text("Its work waits until you say where it is done")).to_be_visible()
    for project, root in (("0a" * 16, "/home/ann/acme"), ("0b" * 16, "/home/ann/<b>x</b>")):
        world.house("workspace.bind", workspace=world.workspace, project=project, root=root)
    page.reload()
    expect(page.get_by_text("Work is done in /home/ann/acme, /home/ann/<b>x</b>")).to_be_visible()
    expect(page.get_by_text("Its work waits")).to_have_count(0)
    assert axe(page) == []
