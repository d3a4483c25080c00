"""The life of a background process as the room records it: spawned, claimed, reported, ended."""

from __future__ import annotations

import base64
import shlex
from pathlib import Path

import pytest

from longhouse.processes.records import SILENT_MS
from longhouse.processes.typed import _Memory
from tests.contracts.world import fingerprint, rows_of
from tests.kit import Lh
from tests.processes.kit import HOST, Runner, allow, ended, out, running, spawned


def status(lh: Lh, task_id: str) -> dict:
    return lh("tool.task_status", task_id=task_id)["task"]


def complaints(lh: Lh) -> list[str]:
    found = []
    for check in lh.house.registry.checks:
        if check.room == "processes":
            found += lh.house.db.read(
                "acme", lambda tx, check=check: list(check.complaints(tx)), lh.house._call()
            )
    return found


def test_a_task_runs_from_its_spawn_to_its_exit(lh: Lh) -> None:
    task_id = spawned(lh, name="tests")
    assert task_id == "PROC-001"
    assert status(lh, task_id)["status"] == "queued"
    assert status(lh, task_id)["queue_position"] == 1
    runner = Runner(lh)
    (work,) = runner.claim()
    assert (work["task_id"], work["args"], work["next_seq"]) == (
        task_id,
        {"command": "make test"},
        2,
    )
    runner.append(task_id, running(), out(0, "one\n"), out(4, "two\n"))
    seen = status(lh, task_id)
    assert (seen["status"], seen["pid"], seen["host"]) == ("running", 7, "connected")
    assert seen["artifacts"]["logs"]["stdout"]["bytes"] == 8
    runner.append(task_id, ended(exit_code=3))
    seen = lh("tool.task_status", name="tests")["task"]
    assert (seen["status"], seen["exit_code"], seen["ended_at_ms"]) == ("exited", 3, 9)
    assert complaints(lh) == []


def test_frames_are_appended_once_and_only_where_the_stream_goes_on(lh: Lh) -> None:
    runner = Runner(lh)
    task_id = spawned(lh)
    runner.claim()
    first = runner.append(task_id, running(), out(0, "x"), base_seq=2)
    assert (first["next_seq"], first["repeated"]) == (4, False)
    again = runner.append(task_id, running(), out(0, "x"), base_seq=2)
    assert (again["next_seq"], again["repeated"]) == (4, True)
    other = runner.refused(task_id, running(), out(0, "y"), base_seq=2)
    assert other["code"] == "CONFLICT"
    assert other["hints"][0]["next_seq"] == 4
    ahead = runner.refused(task_id, out(1, "z"), base_seq=9)
    assert ahead["code"] == "CONFLICT"
    assert "continues at 1, not at 5" in runner.refused(task_id, out(5, "z"))["message"]


@pytest.mark.parametrize(
    "frame",
    [
        out(0, "late"),
        running(),
        ended(),
        {"type": "tool_task_cancelled", "reason": "late"},
        {"type": "tool_task_ports", "ports": [80]},
    ],
)
def test_no_frame_follows_the_last_one(lh: Lh, frame: dict) -> None:
    runner = Runner(lh)
    task_id = runner.start()
    runner.append(task_id, ended())
    assert runner.refused(task_id, frame)["code"] == "CONFLICT"
    assert status(lh, task_id)["status"] == "exited"


def test_a_new_runner_of_a_host_takes_over_from_the_one_that_died(lh: Lh) -> None:
    old = Runner(lh)
    task_id = old.start()
    old.append(task_id, out(0, "abc"))
    new = Runner(lh, "runner-2")
    held = new.hold()
    (work,) = held["tasks"]
    assert (work["task_id"], work["status"], work["next_seq"]) == (task_id, "running", 4)
    assert work["streams"]["stdout"] == {"bytes": 3, "inline": 3}
    assert "does not speak for" in old.refused(task_id, out(3, "d"))["message"]
    new.append(task_id, out(3, "d"), ended())
    assert status(lh, task_id)["status"] == "exited"


def test_a_task_goes_to_one_host_once(lh: Lh) -> None:
    one, other = Runner(lh), Runner(lh, "runner-2", "host-00000002")
    ids = [spawned(lh), spawned(lh)]
    assert [task["task_id"] for task in one.claim(limit=1)] == ids[:1]
    assert [task["task_id"] for task in other.claim()] == ids[1:]
    assert one.claim() == []
    lh.clock.advance(86_400_000)
    assert other.claim() == []
    assert status(lh, ids[0])["host"] == "silent"


@pytest.mark.proves("TTA-040")
def test_no_more_tasks_are_claimed_than_may_run_at_the_same_time(lh: Lh) -> None:
    from longhouse.processes.facts import ProcessFacts

    ids = [spawned(lh) for _ in range(3)]
    facts = lh.house.facts
    facts.put(facts.of(ProcessFacts)._replace(max_running=2))
    runner = Runner(lh)
    assert len(runner.claim()) == 2
    assert runner.claim() == []
    assert runner.watch()["waiting"] == 0
    assert status(lh, ids[2])["queue_position"] == 1
    runner.append(ids[0], running(), ended())
    assert runner.watch()["waiting"] == 1
    assert [task["task_id"] for task in runner.claim()] == ids[2:]


@pytest.mark.proves("TTA-010")
def test_cancelling_a_waiting_task_ends_it_at_once_and_only_once(lh: Lh) -> None:
    task_id = spawned(lh)
    task = lh("tool.task_cancel", task_id=task_id, reason="changed my mind")["task"]
    assert (task["status"], task["cancel_reason"]) == ("cancelled", "changed my mind")
    again = lh("tool.task_cancel", task_id=task_id, reason="again")["task"]
    assert again == task
    assert Runner(lh).claim() == []


def test_cancelling_a_running_task_is_told_to_its_host_and_ends_when_it_says_so(lh: Lh) -> None:
    runner = Runner(lh)
    task_id = runner.start()
    before = runner.watch()
    assert before["timed_out"]
    task = lh("tool.task_cancel", task_id=task_id, reason="enough")["task"]
    assert (task["status"], task["cancel_reason"]) == ("running", "enough")
    (op,) = runner.watch(after_seq=before["seq"])["ops"]
    assert (op["op_id"], op["kind"], op["payload"]) == (
        "PROC-001.1",
        "cancel",
        {"reason": "enough"},
    )
    lh("tool.task_cancel", task_id=task_id, reason="twice")
    assert runner.watch(after_seq=op["seq"])["timed_out"]
    assert [op["op_id"] for op in runner.hold()["ops"]] == ["PROC-001.1"]
    early = runner.refused(task_id, ended("cancelled", None, signal="TERM"))
    assert "tool_task_cancelled must come just before" in early["message"]
    cancelled = {"type": "tool_task_cancelled", "reason": "enough", "op_id": op["op_id"]}
    runner.append(task_id, cancelled, ended("cancelled", None, signal="TERM"))
    task = status(lh, task_id)
    assert (task["status"], task["exit_code"], task["signal"]) == ("cancelled", None, "TERM")
    assert runner.hold()["ops"] == []
    assert complaints(lh) == []


def test_a_name_is_taken_while_its_task_lives_and_free_afterwards(lh: Lh) -> None:
    first = spawned(lh, name="dev")
    error = lh.refused("tool.task_spawn", tool="bash", args={"command": "ls"}, name="dev")
    assert (error["code"], "PROC-001 is queued" in error["message"]) == ("CONFLICT", True)
    lh("tool.task_cancel", task_id=first)
    second = spawned(lh, name="dev")
    assert lh("tool.task_status", name="dev")["task"]["task_id"] == second


@pytest.mark.parametrize(
    "tool, args, code",
    [
        ("bahs", {"command": "ls"}, "UNKNOWN_TASK_TOOL"),
        ("bash", {}, "INVALID_ARGS"),
        ("bash", {"command": "ls", "shell": True}, "INVALID_ARGS"),
        ("exec", {"argv": "ls -l"}, "INVALID_ARGS"),
        ("bash", {"command": "ls", "cwd": "../.."}, "INVALID_ARGS"),
        ("bash", {"command": "ls", "cwd": "/etc"}, "INVALID_ARGS"),
        ("bash", {"command": "ls", "env": {"A": 1}}, "INVALID_ARGS"),
        ("bash", {"command": "ls", "env": {"DB_PASSWORD": "hunter2"}}, "INVALID_ARGS"),
        ("exec", {"argv": ["curl", "-H", "Authorization: Bearer ghp_" + "a" * 36]}, "INVALID_ARGS"),
        ("jobs.list", {"limit": "many"}, "INVALID_ARGS"),
        ("system.token.create", {"role": "operator"}, "INVALID_ARGS"),
    ],
)
def test_what_cannot_run_is_refused_and_recorded_as_spawned_and_failed(
    lh: Lh, tool: str, args: dict, code: str
) -> None:
    error = lh.refused("tool.task_spawn", tool=tool, args=args, name="x")
    assert error["code"] == code
    task_id = error["hints"][-1]["task_id"]
    task = status(lh, task_id)
    assert (task["status"], task["error"]) == ("failed", error["message"])
    assert Runner(lh).claim() == []
    assert complaints(lh) == []


@pytest.mark.proves("TTA-014", "TTA-034", "TTA-038")
def test_in_the_safe_profile_nothing_starts_that_no_rule_allows(lh: Lh) -> None:
    error = lh.refused("tool.task_spawn", tool="bash", args={"command": "make test"})
    assert error["code"] == "POLICY_DENIED"
    assert "policy allow bash 'make test'" in error["recovery"]
    task = status(lh, error["hints"][-1]["task_id"])
    assert (task["status"], task["cause"]) == ("failed", "policy_denied")
    frames = lh("tool.task_stream_events", task_id=task["task_id"])["frames"]
    assert [frame["type"] for frame in frames] == [
        "tool_task_spawned",
        "tool_policy_decided",
        "tool_task_status",
    ]
    assert (frames[1]["decision"], frames[1]["rule"]) == ("deny", "safe.default")


@pytest.mark.parametrize(
    "asked, way_on",
    [
        ({"command": "make 'a b'"}, "policy allow bash " + shlex.quote("make 'a b'")),
        ({"command": "echo a; for x in y; do z; done"}, "put the line into a script"),
        ({"command": "rm x"}, "policy withdraw RULE-002"),
        ({"command": "ls", "env": {"CI": "1"}}, "policy allow env CI"),
        ({"command": "ls", "env": {"V" * 90: "1"}}, f"policy allow env {'V' * 90}"),
    ],
)
def test_a_refusal_by_policy_names_the_way_on_that_helps(
    lh: Lh, asked: dict[str, object], way_on: str
) -> None:
    lh("tool.policy_allow", tool="bash", pattern="ls")
    lh("tool.policy_allow", tool="bash", pattern="rm *", effect="deny")
    error = lh.refused("tool.task_spawn", tool="bash", args=asked)
    assert error["code"] == "POLICY_DENIED"
    assert way_on in error["recovery"]


def test_types_that_are_wrong_leave_no_record(lh: Lh) -> None:
    error = lh.refused("tool.task_spawn", tool="bash", args="make test")
    assert error["code"] == "INVALID_INPUT"
    assert lh("tool.task_list")["tasks"] == []


def test_tasks_are_listed_newest_first_by_status_job_and_name(lh: Lh) -> None:
    one, two, three = spawned(lh, name="a"), spawned(lh), spawned(lh)
    lh("tool.task_cancel", task_id=two)

    def ids(**args: object) -> list[str]:
        return [task["task_id"] for task in lh("tool.task_list", **args)["tasks"]]

    assert ids() == [three, two, one]
    assert ids(status="active") == [three, one]
    assert ids(status="cancelled") == [two]
    assert ids(name="a") == [one]
    assert ids(limit=2, cursor=three) == [two, one]
    page = lh("tool.task_list", limit=1)
    assert (page["has_more"], page["next_cursor"]) == (True, three)


def test_only_its_own_runner_speaks_for_a_host(lh: Lh) -> None:
    from longhouse.dispatch import Caller
    from longhouse.kernel.registry import Role

    Runner(lh).hold()
    thief = Caller(Role.AGENT, owner="token-2")
    answer = lh.house.call("tool.task_held", {"runner_id": "r", "host_id": HOST}, thief)
    assert answer.code == "FORBIDDEN"


def test_the_first_frame_says_what_was_asked_for_and_by_whom(lh: Lh, tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    asked = {"title": "the page", "name": "dev", "execution_mode": "pty", "agent_id": "amber-otter"}
    task_id = spawned(lh, "make", args={"cwd": "web"}, origin_session_id="s-1", **asked)
    first = lh("open", id=task_id)["frames"][0]
    told = {name: first.get(name) for name in ("tool_name", "cwd", "origin_session_id", "args")}
    assert told == {
        "tool_name": "bash",
        "cwd": "web",
        "origin_session_id": "s-1",
        "args": {"command": "make", "cwd": "web"},
    }
    assert {name: first.get(name) for name in asked} == asked


def test_what_was_typed_leaves_its_size_and_goes_with_a_task_that_is_given_up(lh: Lh) -> None:
    task_id = Runner(lh).start(execution_mode="pty")
    lh("tool.task_write_stdin", task_id=task_id, keys=["hunter2", "Enter"], eof=True)
    (op,) = Runner(lh).hold()["ops"]
    assert (op["kind"], op["payload"]["bytes"], op["payload"]["eof"]) == ("stdin", 8, True)
    lh.clock.advance(SILENT_MS + 1)
    assert lh("tool.task_cancel", task_id=task_id, force=True)["task"]["cause"] == "host_lost"
    memory = lh.house.facts.of(_Memory)
    assert not memory._typed
    assert rows_of(lh, "tool_typed")["tool_typed"] == []


def test_keys_are_typed_by_their_names(lh: Lh) -> None:
    task_id = Runner(lh).start(execution_mode="pty")
    lh("tool.task_write_stdin", task_id=task_id, keys=["print(1)", "Enter", "C-d", "Up"])
    (op,) = Runner(lh).hold()["ops"]
    assert base64.b64decode(op["payload"]["chunk_b64"]) == b"print(1)\r\x04\x1b[A"
    both = lh.refused("tool.task_write_stdin", task_id=task_id, keys=["a"], chunk_b64="aGkK")
    assert "cannot be combined" in both["message"]
    much = lh.refused("tool.task_write_stdin", task_id=task_id, keys=["\u6f22" * 2_731])
    assert "keys: 8193 bytes, at most 8192" in much["message"]
    assert "eof=true" in lh.refused("tool.task_write_stdin", task_id=task_id)["message"]


@pytest.mark.proves("TTA-030")
@pytest.mark.parametrize(
    "signal", ["HUP", "INT", "QUIT", "KILL", "USR1", "USR2", "TERM", "CONT", "STOP", "TSTP"]
)
@pytest.mark.parametrize("spelled", ["{}", "SIG{}", "sig{}", " {} "])
def test_a_signal_is_sent_under_every_spelling_of_its_name(
    lh: Lh, signal: str, spelled: str
) -> None:
    runner = Runner(lh)
    task = runner.start(execution_mode="pty")
    for given in (spelled.format(signal), spelled.format(signal.lower())):
        op = lh("tool.task_signal", task_id=task, signal=given)["op_id"]
        (found,) = [one for one in runner.hold()["ops"] if one["op_id"] == op]
        assert (found["kind"], found["payload"]) == ("signal", {"signal": signal})
    for wrong in ("9", "SEGV", "SIG", "HUPP", "SIGSIGHUP"):
        error = lh.refused("tool.task_signal", task_id=task, signal=wrong)
        assert (error["code"], signal in error["recovery"]) == ("INVALID_INPUT", True)


@pytest.mark.proves("TTA-042")
@pytest.mark.parametrize("status", ["exited", "failed"])
def test_cancelling_what_has_ended_only_says_how(lh: Lh, status: str) -> None:
    runner = Runner(lh)
    task = runner.start()
    runner.append(task, ended(status, 0 if status == "exited" else None))
    before = fingerprint(lh)
    answer = lh("tool.task_cancel", task_id=task, reason="no longer needed")["task"]
    assert (answer["status"], answer["cancel_reason"]) == (status, None)
    again = lh("tool.task_cancel", task_id=task, reason="again", force=True)["task"]
    assert again == answer
    assert fingerprint(lh) == before


@pytest.mark.proves("TTA-042")
def test_a_second_cancel_leaves_the_first_reason(lh: Lh) -> None:
    runner = Runner(lh)
    for task in (spawned(lh), runner.start()):
        first = lh("tool.task_cancel", task_id=task, reason="first")["task"]
        second = lh("tool.task_cancel", task_id=task, reason="second")["task"]
        assert (first["cancel_reason"], second["cancel_reason"]) == ("first", "first")
        assert second["next_seq"] == first["next_seq"]


@pytest.mark.proves("TTA-015")
def test_the_contracts_word_for_a_tool_is_taken_at_spawn(lh: Lh) -> None:
    allow(lh)
    args = {"command": "make test", "cwd": "src"}
    envelope = lh.envelope("tool.task_spawn", tool_name="bash", args=args, title="Tests")
    assert envelope["success"], envelope["error"]
    assert [one["code"] for one in envelope["warnings"]] == ["UNDERSTOOD"]
    task = envelope["result"]["task_id"]
    first = lh("tool.task_stream_events", task_id=task)["frames"][0]
    assert (first["tool_name"], first["args"], first["cwd"]) == ("bash", args, "src")
    assert (first["title"], first["execution_mode"]) == ("Tests", "pipes")
    refused = lh.refused("tool.task_spawn", tool="bash", tool_name="exec", args=args)
    assert refused["code"] == "INVALID_INPUT", "two names for one field"
