"""Jobs: the radar, one job with its thread and its fence, and everything that can be done to it."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.web.conftest import Visit, World

PATCH = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old = 1\n+new = 1\n"


def test_a_job_is_followed_and_steered_from_its_own_address(world: World, visit: Visit) -> None:
    held = world.claimed("Port the parser")
    page = visit("/jobs/JOB-001")
    thread = page.get_by_role("list", name="What happened")
    expect(thread.get_by_role("listitem")).to_have_count(2)
    world("jobs.report", **held, message="half of it reads", percent=50)
    expect(thread.get_by_text("half of it reads")).to_be_visible()
    page.get_by_label("Answer JOB-001").fill("Keep the old API.")
    page.get_by_role("button", name="Answer").click()
    expect(thread.get_by_text("Keep the old API.")).to_be_visible()
    expect(page.get_by_label("Answer JOB-001")).to_have_value("")


def test_the_fence_shows_the_holder_its_token_and_who_held_it_before(
    world: World, visit: Visit
) -> None:
    held = world.claimed()
    world("jobs.release", **held, reason="too hot here")
    world("jobs.claim", job="JOB-001", runner_id="rust-2")
    fence = visit("/jobs/JOB-001").get_by_role("region", name="Who holds it")
    expect(fence).to_contain_text("rust-2")
    expect(fence).to_contain_text("min left")
    expect(fence).to_contain_text("Earlier: rust-1 at")


def test_a_job_is_canceled_only_after_a_second_word_and_queued_again(
    world: World, visit: Visit
) -> None:
    world.claimed()
    page = visit("/jobs/JOB-001")
    page.get_by_role("button", name="Cancel the job").click()
    assert world("jobs.open", job="JOB-001")["job"]["status"] == "RUNNING"
    page.get_by_role("button", name="Really cancel?").click()
    expect(page.get_by_role("button", name="Queue again")).to_be_visible()
    assert world("jobs.open", job="JOB-001")["job"]["status"] == "CANCELED"
    page.get_by_role("button", name="Queue again").click()
    expect(page.get_by_role("button", name="Edit")).to_be_visible()


def test_a_queued_job_is_edited_and_keeps_what_it_was_before(world: World, visit: Visit) -> None:
    world("jobs.create", title="Port it", prompt="Port the parser.")
    page = visit("/jobs/JOB-001")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("What it is asked").fill("Port the parser and its tests.")
    page.get_by_label("Priority").select_option("HIGH")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_text("high priority")).to_be_visible()
    view = world("jobs.open", job="JOB-001", include_prompt=True)
    assert view["prompt"] == "Port the parser and its tests."


def test_a_diff_is_shown_in_place_and_its_digest_checked_in_the_browser(
    world: World, visit: Visit
) -> None:
    ref = world("docs.artifact.add", name="fix.patch", content=PATCH)["ref"]
    world("jobs.report", **world.claimed(), message="see the patch", refs=[ref])
    page = visit("/jobs/JOB-001")
    page.get_by_role("button", name=ref).click()
    expect(page.locator('[data-sort="added"]')).to_have_text("+new = 1\n")
    expect(page.locator('[data-sort="removed"]')).to_have_text("-old = 1\n")
    page.get_by_role("button", name="Check the digest").click()
    expect(page.get_by_text("Digest checked")).to_be_visible()


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
