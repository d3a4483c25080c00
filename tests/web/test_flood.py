"""Many rows at once: every tab ends with the newest state, and keeps a bounded part of the log."""

from __future__ import annotations

from itertools import count, islice
from typing import Any

from playwright.sync_api import expect

from tests.processes.kit import out, running
from tests.web.conftest import Visit, World

KEPT = 3000
"""Live log rows that History keeps."""
AT_ONCE = 50
LINE = "one of many lines\n"


class Printing:
    """A process whose host reports many lines in one call."""

    def __init__(self, world: World) -> None:
        host = {"runner_id": "runner-1", "host_id": "host-3f9a1c07"}
        world("tool.policy_allow", tool="bash", pattern="make test")
        world("workspace.bind")
        spawn = {"tool": "bash", "args": {"command": "make test"}}
        self.task = world("tool.task_spawn", **spawn)["task_id"]
        revision = world("tool.task_held", **host)["revision"]
        world("tool.task_claim", revision=revision, **host)
        self._fence = {"task_id": self.task, "runner_id": "runner-1", "revision": revision}
        self._world = world
        self._seq = world("tool.task_status", task_id=self.task)["task"]["next_seq"]
        self._lines = (out(at * len(LINE), LINE) for at in count())
        self._tell([running()])

    def prints(self, lines: int) -> None:
        for _ in range(0, lines, AT_ONCE):
            self._tell(list(islice(self._lines, AT_ONCE)))

    def _tell(self, frames: list[dict[str, Any]]) -> None:
        self._world("tool.task_append", **self._fence, base_seq=self._seq, frames=frames)
        self._seq += len(frames)


def test_every_tab_ends_a_flood_with_the_newest_state(world: World, visit: Visit) -> None:
    held = world.claimed()
    printing = Printing(world)
    pages = [visit("/jobs/JOB-001"), visit("/jobs/JOB-001"), visit("/history", stream="jobs")]
    for page in pages:
        expect(page.locator('[data-link="live"]')).to_have_count(1)
    for number in range(20):
        world("jobs.report", **held, message=f"part {number} is read")
        printing.prints(AT_ONCE)
    for page in pages:
        expect(page.get_by_text("part 19 is read").first).to_be_visible()
        expect(page.locator('[data-link="live"]')).to_have_count(1)


def test_history_keeps_a_bounded_part_of_what_comes_by_itself(world: World, visit: Visit) -> None:
    printing = Printing(world)
    page = visit("/history", stream="processes")
    expect(page.locator('[data-link="live"]')).to_have_count(1)
    expect(page.get_by_role("heading", name="History")).to_be_visible()  # which comes on its own
    printing.prints(KEPT + AT_ONCE)
    world("jobs.create", title="Newest of all", prompt="x")
    expect(page.get_by_text(f"of {KEPT:,} rows, back to")).to_be_visible()
    page.get_by_label("Room").select_option("Jobs")  # too few of them: the rest is read back
    expect(page.get_by_text("Newest of all")).to_be_visible()
    expect(page.get_by_text(", back to")).to_have_count(0)
