"""The attacker, or a careless neighbour, moves the focus under an agent that is writing."""

from __future__ import annotations

import pytest

from longhouse.dispatch import ClientSession
from tests.kit import Lh
from tests.security.kit import Outsider


def _tasks(lh: Lh) -> tuple[str, str]:
    plan = lh("tasks.plan.create", title="Plan")["id"]
    made = [
        lh("tasks.plan.create", kind="task", parent=plan, title=title)["id"] for title in ("A", "B")
    ]
    return made[0], made[1]


@pytest.mark.proves("MEM-012")
def test_what_b_starts_does_not_move_the_focus_of_a(lh: Lh) -> None:
    one, other = _tasks(lh)
    a, b = (Outsider(lh, f"TOK-{n}", agent=n) for n in ("amber-otter", "cobalt-harbor"))
    a("tasks.focus.set", task=one)
    b("tasks.focus.set", task=other)
    b("tasks.macro.start", task_title="Something else")
    assert a("tasks.focus.get")["focus"] == one
    assert a("vcs.notes.commit", content="for A")["entry"]["branch"] == f"task/{one}"


@pytest.mark.proves("MEM-012")
def test_connections_without_an_identity_have_a_focus_of_their_own(lh: Lh) -> None:
    one, other = _tasks(lh)
    a = Outsider(lh, "operator/1", session=ClientSession(key="operator/1"))
    b = Outsider(lh, "operator/2", session=ClientSession(key="operator/2"))
    a("tasks.focus.set", task=one)
    b("tasks.focus.set", task=other)
    assert (a("tasks.focus.get")["focus"], b("tasks.focus.get")["focus"]) == (one, other)
    assert lh("tasks.focus.get")["focus"] == other  # whoever has no identity sets the workspace's
    after_a_restart = Outsider(lh, "operator/1", session=ClientSession(key="operator/1"))
    assert after_a_restart("tasks.focus.get")["focus"] == one


@pytest.mark.proves("MEM-012")
def test_the_workspaces_focus_is_the_default_for_newcomers(lh: Lh) -> None:
    one, other = _tasks(lh)
    a, b = (Outsider(lh, f"TOK-{n}", agent=n) for n in ("amber-otter", "cobalt-harbor"))
    a("tasks.focus.set", task=one)  # there was none: it becomes the workspace's, too
    assert b("tasks.focus.get")["focus"] == lh("tasks.focus.get")["focus"] == one
    a("tasks.focus.set", task=other)
    assert b("tasks.focus.get")["focus"] == one
    a("tasks.focus.clear")
    assert a("tasks.focus.get")["focus"] is None
    assert b("tasks.focus.get")["focus"] == one
    b("tasks.focus.set", task=other)
    lh("tasks.delete", task=other)
    assert b("tasks.focus.get")["focus"] == one


def test_a_checkout_is_the_callers_own_and_gives_way_to_a_focus(lh: Lh) -> None:
    one, _ = _tasks(lh)
    lh("system.init")
    a, b = (Outsider(lh, f"TOK-{n}", agent=n) for n in ("amber-otter", "cobalt-harbor"))
    a("vcs.branch.create", name="idea/a")
    a("vcs.checkout", ref="idea/a")
    current = {
        who: next(x["name"] for x in call("vcs.branch.list")["branches"] if x.get("checkout"))
        for who, call in (("a", a), ("b", b), ("person", lh))
    }
    assert current == {"a": "idea/a", "b": "main", "person": "main"}
    assert a("vcs.notes.commit", content="x")["entry"]["branch"] == "idea/a"
    lh("tasks.focus.set", task=one)
    assert a("vcs.notes.commit", content="y")["entry"]["branch"] == f"task/{one}"
    assert a("vcs.notes.commit", content="z", branch="idea/a")["entry"]["branch"] == "idea/a"
    lh("vcs.branch.delete", name="idea/a", force=True)  # nobody is left standing on what is gone
    listed = a("vcs.branch.list")["branches"]
    assert [one["name"] for one in listed if one.get("checkout")] == ["main"]
