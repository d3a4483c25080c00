"""A viewer wants a disguised secret that somebody put into a title, a name or a reason."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from longhouse.client.feed import pages
from longhouse.kernel.registry import Role
from tests.kit import Lh
from tests.security.kit import Outsider
from tests.security.test_disguising_a_secret import DISGUISES, THEIRS

FORMS: dict[str, Any] = {
    "plain": str,
    "colored": DISGUISES["grep --color"],
    "zero width": DISGUISES["zero width"],
    "escaped": DISGUISES["escapes as JSON has them"],
    "8-bit": DISGUISES["a title by 8-bit controls"],
    "typed, corrected": lambda t: f"{t[:9]}zz\b\b{t[9:]}",
}
HIDDEN = THEIRS[12:36]
SEEN_THROUGH = re.compile(r"(?:\\+u001b|\x1b)\[[0-9;]*[a-zA-Z]|\u200b|\\+u200b")

WRITES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("jobs.create", {"title": "J {t}", "prompt": "P {t}"}),
    ("jobs.cancel", {"job": "JOB-001", "reason": "because {t}"}),
    ("tasks.macro.start", {"task_title": "T {t}", "plan_title": "P {t}"}),
    ("tasks.note", {"task": "TASK-001", "path": "s:0", "note": "n {t}"}),
    ("vcs.notes.commit", {"content": "c {t}", "title": "t {t}"}),
    ("docs.artifact.add", {"name": "a {t}.txt", "content": "x {t} y"}),
    ("agents.register", {"name": "amber-otter", "role": "r {t}"}),
    ("tool.task_spawn", {"tool": "bash", "args": {"command": "echo hi"}, "name": "{t}"}),
    ("agents.reserve", {"agent": "amber-otter", "scope": "src/{t}", "bead_id": "TASK-001"}),
)
REFUSED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("jobs.open", {"job": "{t}"}),
    ("docs.show", {"doc": "{t}"}),
    ("nope.{t}", {}),
    ("jobs.radar", {"{t}": 1}),
    ("open", {"id": "{t}"}),
    ("docs.artifact.show", {"id": "{t}"}),
    ("tool.task_status", {"task_id": "{t}"}),
)
READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("jobs.open", {"job": "JOB-001", "include_prompt": True}),
    ("jobs.tail", {"job": "JOB-001"}),
    ("jobs.radar", {}),
    ("jobs.list", {}),
    ("tasks.snapshot", {"task": "TASK-001"}),
    ("tasks.history", {"task": "TASK-001"}),
    ("docs.show", {"doc": "notes"}),
    ("docs.artifact.list", {}),
    ("agents.status", {}),
    ("tool.task_list", {}),
    ("status", {}),
)


def filled(value: Any, secret: str) -> Any:
    if isinstance(value, str):
        return value.replace("{t}", secret)
    if isinstance(value, dict):
        return {filled(key, secret): filled(inner, secret) for key, inner in value.items()}
    return value


@pytest.mark.parametrize("form", FORMS)
def test_no_answer_line_refusal_or_event_shows_it(lh: Lh, form: str) -> None:
    secret = FORMS[form](THEIRS)
    viewer = Outsider(lh, "TOK-v", Role.VIEWER)
    lh("tool.policy_allow", tool="bash")
    told: list[tuple[str, str]] = []

    def tell(what: str, said: Any) -> None:
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, default=str)
        told.append((what, SEEN_THROUGH.sub("", text)))

    for cmd, args in WRITES:
        tell(cmd, lh.envelope(cmd, **filled(args, secret)))
    for cmd, args in (*REFUSED, *READS):
        given = filled(args, secret)
        tell(cmd, viewer.envelope(filled(cmd, secret), **given))
        tell(f"{cmd} as lines", lh.house.call(filled(cmd, secret), {**given, "fmt": "lines"}).text)
    for page in pages(lh.house, 0, workspace=None, follow=False):
        for event in page:
            tell(f"event {event['kind']}", event)
    assert [what for what, text in told if HIDDEN in text] == []
    assert len(told) > 40
