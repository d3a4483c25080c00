"""Digests of transcripts: what sessions came to, within bounds, and how to find more."""

from __future__ import annotations

import pytest

from longhouse.kernel.schema import args_schema
from tests.kit import Lh
from tests.thinking.test_transcripts import aged, session


@pytest.mark.proves("MEM-225", "MEM-232", "MEM-233", "MEM-234", "MEM-235", "MEM-236")
def test_a_digest_tells_what_sessions_came_to(lh: Lh) -> None:
    for number in range(8):
        aged(
            session(
                lh,
                ("assistant", f"## Summary\nsession {number}"),
                ("assistant", "Anything else?"),
                ("user", "Summary: no"),
                name=f"{number}.jsonl",
                id=f"s-{number}",
            ),
            number,
        )
    session(lh, ("assistant", "Summary: elsewhere"), cwd="/elsewhere", name="x.jsonl")
    project, root = str(lh.house.settings.project_root), lh.house.settings.transcripts[0]
    result = lh("docs.transcripts.digest")
    assert result.keys() >= {"root_dir", "filters", "scanned", "digest", "truncated"}
    assert result["filters"] == {"cwd_prefix": project, "mode": "summary"}
    assert [one["session"]["id"] for one in result["digest"]] == [f"s-{n}" for n in range(6)]
    assert (result["root_dir"], result["truncated"]) == (str(root), False)
    assert result["scanned"]["files"] >= 6
    assert result["scanned"]["truncated"] is False
    first = result["digest"][0]
    head, said = (root / "0.jsonl").read_bytes().split(b"\n")[:2]
    assert first == {
        "ref": {"path": "0.jsonl", "line": 2, "byte": len(head) + 1},
        "session": {"id": "s-0", "ts": "2026-01-01T00:00:00Z", "cwd": project},
        "message": {
            "role": "assistant",
            "ts": "2026-01-01T00:00:01Z",
            "text": "## Summary\nsession 0",
        },
    }
    assert b"session 0" in said
    opened = lh(
        "docs.transcripts.open",
        ref={"path": "0.jsonl", "byte": first["ref"]["byte"]},
        before_lines=0,
        after_lines=0,
    )
    assert opened["entries"][0]["text"] == first["message"]["text"]
    last = lh("docs.transcripts.digest", mode="last", max_items=2)["digest"]
    assert [(one["session"]["id"], one["message"]["text"]) for one in last] == [
        ("s-0", "Anything else?"),
        ("s-1", "Anything else?"),
    ]
    assert lh("docs.transcripts.digest", max_files=3)["scanned"]["files"] == 3
    few = lh("docs.transcripts.digest", max_bytes_total=1500)
    assert few["scanned"]["bytes"] <= 1500
    assert (few["scanned"]["truncated"], few["truncated"]) == (True, False)
    cut = lh("docs.transcripts.digest", max_chars=700)
    assert (cut["scanned"]["truncated"], cut["truncated"]) == (False, True)
    assert cut["budget"]["used_chars"] <= 700
    (other,) = lh("docs.transcripts.digest", cwd_prefix="/elsewhere")["digest"]
    assert other["message"]["text"] == "Summary: elsewhere"
    hint = ("user", "# AGENTS.md instructions for /hinted/x")
    session(lh, hint, ("assistant", "Summary: hinted"), cwd="/y", name="below/h.jsonl")
    (hinted,) = lh("docs.transcripts.digest", cwd_prefix="/hinted")["digest"]
    assert hinted["message"]["text"] == "Summary: hinted"
    below = lh("docs.transcripts.digest", cwd_prefix="/y", root_dir=str(root / "below"))
    assert [one["ref"]["path"] for one in below["digest"]] == ["h.jsonl"]
    assert lh("docs.transcripts.digest", root_dir=str(root / "below"))["digest"] == []
    asked = args_schema(lh.house.registry.get("docs.transcripts.digest"))["properties"]
    wanted = {"max_files": 720, "max_bytes_total": 16 << 20, "max_items": 6, "mode": "summary"}
    assert {name: asked[name]["default"] for name in wanted} == wanted


@pytest.mark.proves("MEM-237", "MEM-238")
def test_a_digest_reads_the_ends_of_a_file_alone(lh: Lh) -> None:
    filler = [("user", "x" * 10_000)] * 200
    path = session(lh, ("assistant", "Summary: early"), *filler, ("assistant", "Summary: late"))
    result = lh("docs.transcripts.digest")
    (item,) = result["digest"]
    assert item["message"]["text"] == "Summary: late"
    assert result["scanned"]["bytes"] <= 2 * (256 << 10) < path.stat().st_size
    assert "line" not in item["ref"]
    assert path.read_bytes()[item["ref"]["byte"] :].startswith(b'{"timestamp"')
    small = session(lh, ("assistant", "Summary: small"), name="small.jsonl")
    assert small.exists()
    assert lh("docs.transcripts.digest")["digest"][0]["ref"]["line"] == 2


@pytest.mark.proves("MEM-237", "MEM-239")
@pytest.mark.parametrize("budget", [900, 1_500, 3_000, 20_000, 40_000])
def test_a_digest_with_few_bytes_reads_the_newest_and_says_that_it_stopped(
    lh: Lh, budget: int
) -> None:
    filler = [("user", "x" * 300)] * 3_000
    session(lh, ("assistant", "Summary: early"), *filler, ("assistant", "Summary: late"))
    answer = lh.envelope("docs.transcripts.digest", max_bytes_total=budget)
    assert [one["message"]["text"] for one in answer["result"]["digest"]] == ["Summary: late"]
    scanned = answer["result"]["scanned"]
    assert (scanned["truncated"], scanned["bytes"]) == (True, budget)
    (warned,) = answer["warnings"]
    assert warned["code"] == "TRANSCRIPTS_SCAN_TRUNCATED"
    assert f"{budget} bytes" in warned["message"]
    assert lh.run_actions(answer)


@pytest.mark.proves("MEM-239")
def test_an_empty_digest_says_how_to_find_more(lh: Lh) -> None:
    session(lh, ("assistant", "Summary: here"), ("user", "x" * 5000))
    where = {"root_dir": "codex", "cwd_prefix": str(lh.house.settings.project_root)}
    answer = lh.envelope("docs.transcripts.digest", max_bytes_total=300, **where)
    assert answer["result"]["digest"] == []
    assert answer["result"]["scanned"]["truncated"] is True
    assert [one["code"] for one in answer["warnings"]] == ["TRANSCRIPTS_SCAN_TRUNCATED"]
    larger, other = (action["args"]["args"] for action in answer["actions"])
    assert larger["max_bytes_total"] > 300
    assert where.items() <= larger.items() & other.items(), "they look in the same place"
    assert (larger.get("mode", "summary"), other["mode"]) == ("summary", "last")
    more, _ = lh.run_actions(answer)
    assert more.envelope["result"]["digest"][0]["message"]["text"] == "Summary: here"
