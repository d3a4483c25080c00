"""Work: plans, tasks and steps, what is ready, and proof that can be verified."""

from __future__ import annotations

import hashlib

from playwright.sync_api import expect

from longhouse.kernel.tool_tasks import task_folder
from tests.processes.kit import Runner, ended, out, running
from tests.web.conftest import Visit, World, axe, fits_a_phone, send

STEPS = [{"title": "Read", "success_criteria": ["it reads"], "tests": ["pytest"]}, "Write"]


def test_a_task_moves_as_agents_close_its_steps_and_a_person_closes_the_last(
    world: World, visit: Visit
) -> None:
    task = world.task("Parser", steps=STEPS)
    page = visit(f"/work/{task}")
    steps = page.get_by_role("list", name="Steps").get_by_role("listitem")
    expect(steps).to_have_count(2)
    world("tasks.step.close", task=task, path="s:0", checkpoints="gate")
    expect(steps.first).to_contain_text("(done)")
    send(page, steps.nth(1).get_by_role("button", name="Done"), "tasks.step.*")
    expect(steps.nth(1)).to_contain_text("(done)")
    with page.expect_response("**/call/tasks.complete*"):
        page.get_by_label("Status").select_option("Done")
    expect(
        page.get_by_role("region", name=f"Task {task}").get_by_text("Done").first
    ).to_be_visible()
    opened = world("open", id=task)["target"]
    assert (opened["status"], opened["steps_open"]) == ("DONE", 0)


def test_on_a_phone_a_steps_buttons_are_below_its_title(world: World, visit: Visit) -> None:
    page = visit(f"/work/{world.task('Parser', steps=STEPS)}")
    step = page.get_by_role("list", name="Steps").get_by_role("listitem").first
    title, button = step.get_by_text("Read"), step.get_by_role("button", name="Done")
    expect(button).to_be_visible()
    fits_a_phone(page)
    above, below = title.bounding_box(), button.bounding_box()
    assert above is not None
    assert below is not None
    assert above["y"] + above["height"] <= below["y"]


def test_proof_opens_to_its_command_exit_code_and_checked_digest(
    world: World, visit: Visit
) -> None:
    task = world.task("Parser", steps=STEPS)
    world(
        "tasks.evidence.capture",
        task=task,
        path="s:0",
        checkpoint="tests",
        items=[{"kind": "cmd", "text": "pytest -q", "exit_code": 0, "output": "3 passed\n"}],
    )
    page = visit(f"/work/{task}")
    step = page.get_by_role("list", name="Steps").get_by_role("listitem").first
    step.get_by_text("pytest -q").click()
    expect(step).to_contain_text("a command that ran")
    expect(step).to_contain_text("Exit code0")
    expect(step).to_contain_text("3 passed")
    step.get_by_role("button", name="Verify digest").click()
    expect(step).to_contain_text("Digest verified")


def test_a_process_that_proves_a_step_is_checked_again_byte_by_byte(
    world: World, visit: Visit
) -> None:
    world("tool.policy_allow", tool="bash", pattern="make test")
    spawn = {"tool": "bash", "args": {"command": "make test"}}
    process = world("tool.task_spawn", **spawn)["task_id"]
    world("workspace.bind")
    runner = Runner(world)  # type: ignore[arg-type]
    runner.claim()
    printed = "214 passed\n"
    folder = task_folder(world.house.dir, world.workspace, process)
    folder.mkdir(parents=True, mode=0o700)
    (folder / "stdout.log").write_text(printed)
    digest = hashlib.sha256(printed.encode()).hexdigest()
    seal = {"bytes_total": len(printed), "bytes_stored": len(printed), "sha256": digest}
    runner.append(process, running(), out(0, printed), ended(logs={"stdout": seal}))
    task = world.task("Parser", steps=STEPS)
    world("tasks.step.close", task=task, path="s:0", checkpoints="all", proof=process)
    page = visit(f"/work/{task}")
    step = page.get_by_role("list", name="Steps").get_by_role("listitem").first
    step.get_by_text("make test").first.click()
    expect(step).to_contain_text(f"Ran as{process}")
    expect(step).to_contain_text("Exit code0")
    expect(step).to_contain_text("bytes 0 to 11 of stdout")
    step.get_by_role("button", name="Verify").click()
    expect(step).to_contain_text("Verified: the bytes match")
    assert axe(page) == []
    token, _ = world.house.new_token("viewer")
    viewer = visit(f"/work/{task}", token=token)
    seen = viewer.get_by_role("list", name="Steps").get_by_role("listitem").first
    seen.get_by_text("make test").first.click()
    expect(seen).to_contain_text("bytes 0 to 11 of stdout")
    expect(seen.get_by_role("button", name="Verify")).to_have_count(0)
    viewer.close()
    (folder / "stdout.log").write_text("215 passed\n")
    page.reload()
    step.get_by_text("make test").first.click()
    page.route("**/call/tool.output_raw*", lambda route: route.abort())
    step.get_by_role("button", name="Verify").click()
    expect(step).to_contain_text("Cannot be verified here")
    page.unroute("**/call/tool.output_raw*")
    page.reload()
    step.get_by_text("make test").first.click()
    step.get_by_role("button", name="Verify").click()
    expect(step).to_contain_text("The bytes do not match")
    step.get_by_role("link", name=process).click()
    expect(page.get_by_role("region", name=f"Process {process}")).to_contain_text("Exit code 0")


def test_what_was_done_without_proof_is_found_and_what_has_proof_is_not(
    world: World, visit: Visit
) -> None:
    bare, proved = world.task("Bare", steps=["x"]), world.task("Proved", steps=["y"])
    for task, proof in ((bare, None), (proved, "CMD: pytest -q (exit 0)")):
        world(
            "tasks.step.close",
            task=task,
            path="s:0",
            checkpoints="gate",
            **({"proof": proof} if proof else {}),
        )
        world("tasks.complete", task=task, status="DONE")
    page = visit("/work", show="unproved")
    tasks = page.get_by_role("list", name="Tasks done without proof")
    expect(tasks).to_contain_text("Bare")
    expect(tasks).not_to_contain_text("Proved")


def test_the_board_and_the_ready_list_follow_the_work(world: World, visit: Visit) -> None:
    task = world.task("Parser", steps=STEPS)
    world("tasks.complete", task=task, status="TODO")
    page = visit("/work", show="board")
    expect(page.get_by_role("region", name="To do")).to_contain_text("Parser")
    world("tasks.complete", task=task, status="ACTIVE")
    expect(page.get_by_role("region", name="Active")).to_contain_text("Parser")
    page.get_by_role("button", name="Ready").click()
    expect(page.get_by_role("list", name="Ready tasks")).to_contain_text("Parser")


def test_a_task_is_given_to_an_agent(world: World, visit: Visit) -> None:
    otter, task = world.agent("amber-otter"), world.task("Parser", steps=STEPS)
    page = visit(f"/work/{task}")
    with page.expect_response("**/call/tasks.edit*"):
        page.get_by_label("Assignee").select_option(otter)
    expect(page.get_by_role("region", name="All work")).to_contain_text(otter)
    assert world("open", id=task)["target"]["assignee"] == otter
