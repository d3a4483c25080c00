"""Output of a host whose folder servers cannot read: stored byte for byte, once, and readable."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from longhouse.dispatch import Caller
from longhouse.kernel.registry import Role
from tests.kit import Lh
from tests.processes.kit import Runner, ended

TOKEN = "ghp_" + "a1B2" * 9


def sent(runner: Runner, task_id: str, offset: int, data: bytes = b"", **more: Any) -> dict:
    return runner.lh("tool.output_append", **asked(runner, task_id, offset, data, **more))


def asked(runner: Runner, task_id: str, offset: int, data: bytes = b"", **more: Any) -> dict:
    fence = {"runner_id": runner.runner_id, "revision": runner.revision, "stream": "stdout"}
    content = base64.b64encode(data).decode()
    return {"task_id": task_id, "offset_bytes": offset, "content_b64": content, **fence, **more}


def begun(lh: Lh, **more: Any) -> tuple[Runner, str]:
    runner = Runner(lh)
    task_id = runner.start(**more)
    assert sent(runner, task_id, 0)["next_offset"] == 0
    return runner, task_id


def text(lh: Lh, task_id: str, **how: Any) -> str:
    return "".join(
        part["text"] for part in lh("tool.output_fetch", task_id=task_id, **how)["parts"]
    )


def test_what_is_sent_can_be_read_at_once_with_secrets_starred_out(lh: Lh) -> None:
    runner, task_id = begun(lh)
    assert sent(runner, task_id, 0, b"one\n")["next_offset"] == 4
    assert text(lh, task_id) == "one\n"
    sent(runner, task_id, 4, f"{TOKEN}\nthree\n".encode())
    assert text(lh, task_id, line=2, max_lines=1) == "*" * len(TOKEN) + "\n"
    assert text(lh, task_id, tail_lines=1) == "three\n"
    raw = lh("tool.output_raw", task_id=task_id, offset_bytes=4, max_bytes=len(TOKEN))
    assert base64.b64decode(raw["data_b64"]) == TOKEN.encode()


def test_what_is_sent_again_or_for_another_place_is_not_kept_twice(lh: Lh) -> None:
    runner, task_id = begun(lh)
    for _ in range(2):
        assert sent(runner, task_id, 0, b"one\n")["next_offset"] == 4
    assert sent(runner, task_id, 9, b"too far\n")["next_offset"] == 4
    assert sent(runner, task_id, 2, b"behind\n")["next_offset"] == 4
    assert text(lh, task_id) == "one\n"


def test_the_end_seals_what_is_kept_under_its_digest_and_again_is_no_change(lh: Lh) -> None:
    runner, task_id = begun(lh)
    sent(runner, task_id, 0, b"all of it\n")
    assert "artifact" not in sent(runner, task_id, 4, eof=True)
    for _ in range(2):
        done = sent(runner, task_id, 10, eof=True)
        assert done["artifact"] == hashlib.sha256(b"all of it\n").hexdigest()
        assert (done["bytes_stored"], done.get("gap")) == (10, None)
    assert sent(runner, task_id, 10, b"more")["next_offset"] == 10
    seal = {"bytes_total": 10, "bytes_stored": 10, "artifact": done["artifact"]}
    runner.append(task_id, {"type": "tool_stdout", "offset_bytes": 0, "bytes": 10})
    runner.append(task_id, ended(logs={"stdout": seal}))
    assert text(lh, task_id) == "all of it\n"


def test_above_the_cap_head_and_tail_are_kept_as_they_are_when_the_host_does_it(lh: Lh) -> None:
    runner, task_id = begun(lh, args={"artifact_max_bytes": 8_192})
    whole = b"".join(b"%06d\n" % n for n in range(60_000))
    for at in range(0, len(whole), 100_000):
        sent(runner, task_id, at, whole[at : at + 100_000])
    assert text(lh, task_id, tail_lines=1) == "059999\n"
    done = sent(runner, task_id, len(whole), eof=True)
    assert done["gap"] == {"from": 4_096, "to": len(whole) - 4_096}
    kept = whole[:4_096] + whole[-4_096:]
    assert done["artifact"] == hashlib.sha256(kept).hexdigest()


def test_bytes_that_were_lost_before_they_were_sent_are_a_gap(lh: Lh) -> None:
    runner, task_id = begun(lh, args={"artifact_max_bytes": 8_192})
    sent(runner, task_id, 0, b"x" * 3_000)
    assert sent(runner, task_id, 3_000, skip_to=50_000)["next_offset"] == 50_000
    sent(runner, task_id, 50_000, b"\nthe end\n")
    page = lh("tool.output_fetch", task_id=task_id, offset_bytes=2_990)
    assert (page["gap"], page["capped"]) == ({"from": 3_000, "to": 50_000}, True)
    assert text(lh, task_id, tail_lines=1) == "the end\n"
    done = sent(runner, task_id, 50_009, eof=True)
    assert (done["gap"], done["bytes_stored"]) == ({"from": 3_000, "to": 50_000}, 3_009)
    assert done["artifact"] == hashlib.sha256(b"x" * 3_000 + b"\nthe end\n").hexdigest()


def test_nobody_but_who_speaks_for_the_host_adds_to_its_output(lh: Lh) -> None:
    runner, task_id = begun(lh)
    sent(runner, task_id, 0, b"true\n")
    old = Runner(lh)
    old.revision = runner.revision
    runner.hold()
    assert lh.refused("tool.output_append", **asked(old, task_id, 5, b"late"))["code"] == "CONFLICT"
    stranger = Caller(role=Role.AGENT, owner="TOK-009", runner=True)
    forged = asked(runner, task_id, 5, b"forged")
    answer = lh.house.call("tool.output_append", {"workspace": "acme", **forged}, stranger)
    assert answer.envelope["error"]["code"] == "CONFLICT"
    assert text(lh, task_id) == "true\n"


def test_the_artifact_shows_another_agent_no_bytes_but_text_with_secrets_starred_out(
    lh: Lh,
) -> None:
    runner, task_id = begun(lh)
    sent(runner, task_id, 0, b"\0\xff\xfe " + TOKEN.encode() + b"\n")
    (artifact,) = lh("docs.artifact.list")["artifacts"]
    stranger = Caller(role=Role.AGENT, owner="TOK-009")
    asks = {"workspace": "acme", "id": artifact["id"]}
    answer = lh.house.call("docs.artifact.show", asks, stranger)
    shown = "".join(part["text"] for part in answer.envelope["result"]["parts"])
    assert shown.endswith(" " + "*" * len(TOKEN) + "\n")
    assert "data_b64" not in answer.envelope["result"]


def test_after_its_end_nothing_is_added_to_a_task(lh: Lh) -> None:
    runner, task_id = begun(lh)
    sent(runner, task_id, 0, b"before\n")
    runner.append(task_id, ended())
    refused = lh.refused("tool.output_append", **asked(runner, task_id, 7, b"after\n"))
    assert refused["code"] == "CONFLICT"
    assert text(lh, task_id) == "before\n"
