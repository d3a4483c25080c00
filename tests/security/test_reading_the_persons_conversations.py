"""An agent wants to read what the person said elsewhere, or the secrets they said here."""

from __future__ import annotations

import re
import string
from pathlib import Path
from typing import Any

import pytest

from longhouse.dispatch import Caller
from longhouse.kernel.registry import Role
from tests.kit import Lh
from tests.processes.test_belonging import loop, status
from tests.security.kit import Outsider
from tests.security.test_disguising_a_secret import DISGUISES
from tests.thinking.world import codex, said_in_codex, transcript

ELSEWHERE = "/home/ann/private"
READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("docs.transcripts.search", {"query": "divorce"}),
    ("docs.transcripts.digest", {"mode": "last"}),
    ("docs.transcripts.open", {"ref": {"path": "other.jsonl", "line": 2}}),
)


@pytest.fixture
def other(lh: Lh) -> Path:
    """A conversation of the person in another project, beside one in this project."""
    transcript(lh)
    head = codex("session_meta", id="x", cwd=ELSEWHERE)
    return transcript(lh, head, said_in_codex("assistant", "the divorce"), name="other.jsonl")


def client(lh: Lh, role: Role = Role.AGENT) -> Outsider:
    return Outsider(lh, "TOK-c/1", role, client=True)


@pytest.mark.parametrize("cmd, args", READS)
def test_an_agents_token_or_a_jobs_reads_no_transcript(
    lh: Lh, other: Path, cmd: str, args: dict[str, Any]
) -> None:
    home = str(lh.house.facts.default_workspace)
    job = Outsider(lh, "0" * 64, workspaces=(home,))
    limited = Outsider(lh, "TOK-m", Role.MANAGER, workspaces=("beta",))
    for stranger in (Outsider(lh, "TOK-a"), job, limited):
        error = stranger.refused(cmd, **args)
        assert error["code"] == "FORBIDDEN", error
        assert "divorce" not in str(error)


def test_a_task_reads_no_transcript_that_its_spawner_could_not(lh: Lh, other: Path) -> None:
    lh("tool.policy_allow", tool="docs.transcripts.search")
    spawn = {"tool": "docs.transcripts.search", "args": {"query": "cache"}}
    stranger = lh("system.token.create", role="agent")["id"]
    Outsider(lh, stranger)("tool.task_spawn", **spawn)
    loop(lh, "carry_out")
    assert status(lh, "PROC-001")["cause"] == "forbidden"
    assert "is the cache cold" not in str(lh("tool.output_fetch", task_id="PROC-001"))
    lh("tool.task_spawn", **spawn)
    loop(lh, "carry_out")
    assert "is the cache cold" in str(lh("tool.output_fetch", task_id="PROC-002"))


@pytest.mark.proves("MEM-216")
@pytest.mark.parametrize("prefix", ["/", "/home", ELSEWHERE, "{root}/../..", "{root}-other", "."])
def test_a_client_reads_only_this_projects_sessions(lh: Lh, other: Path, prefix: str) -> None:
    mine = client(lh)
    assert mine("docs.transcripts.search", query="cache")["hits"]
    assert mine("docs.transcripts.open", ref={"path": "session.jsonl", "line": 2})["entries"]
    asked = prefix.format(root=lh.house.settings.project_root)
    for caller in (mine, client(lh, Role.MANAGER)):
        for cmd, args in READS[:2]:
            error = caller.refused(cmd, **args, cwd_prefix=asked)
            assert error["code"] == "FORBIDDEN"
            assert "cwd_prefix" in error["message"]
        error = caller.refused(*READS[2][:1], **READS[2][1])
        assert error["code"] == "FORBIDDEN"
        assert "not a session of this project" in error["message"]
    assert lh("docs.transcripts.search", query="divorce", cwd_prefix="/home")["hits"]
    assert lh("docs.transcripts.open", ref={"path": "other.jsonl", "line": 2})["entries"]


def quoting(root: str) -> dict[str, list[str]]:
    """Sessions of another project whose text or moves lead to this one."""
    say = said_in_codex
    elsewhere = codex("session_meta", id="x", cwd=ELSEWHERE)
    return {
        "quotes a folder": [elsewhere, say("user", f"<cwd>{root}</cwd>")],
        "quotes instructions": [elsewhere, say("user", f"AGENTS.md instructions for {root}/src")],
        "brings instructions": [
            codex("session_meta", id="x", cwd=ELSEWHERE, instructions=f"<cwd>{root}</cwd>")
        ],
        "came here later": [elsewhere, codex("turn_context", cwd=root)],
        "spells a folder oddly": [codex("session_meta", id="x", cwd=f"{root}/../../x")],
    }


@pytest.mark.proves("MEM-216")
@pytest.mark.parametrize("how", quoting(""))
def test_no_text_in_a_session_makes_it_one_of_this_project(lh: Lh, how: str) -> None:
    """A repository's own instructions are part of the conversation, and may name any folder."""
    lines = quoting(str(lh.house.settings.project_root))[how]
    transcript(lh, *lines, said_in_codex("assistant", "the divorce"), name="other.jsonl")
    for caller in (client(lh), client(lh, Role.MANAGER)):
        for cmd, args in READS[:2]:
            assert "divorce" not in str(
                caller(cmd, **args)["hits" if "search" in cmd else "digest"]
            )
        ref = {"path": "other.jsonl", "line": len(lines) + 1}
        assert caller.refused("docs.transcripts.open", ref=ref)["code"] == "FORBIDDEN"
    assert lh("docs.transcripts.search", query="divorce", cwd_prefix="/")["hits"]


def test_a_linked_worktree_belongs_to_the_project_only_if_both_sides_say_so(
    lh: Lh, tmp_path_factory: pytest.TempPathFactory
) -> None:
    away = tmp_path_factory.mktemp("away")
    root = lh.house.settings.project_root
    for name, back in (("real", True), ("forged", False)):
        tree, meta = away / name, root / ".git" / "worktrees" / name
        tree.mkdir()
        meta.mkdir(parents=True)
        (meta / "gitdir").write_text(f"{tree}/.git\n")
        if back:
            (tree / ".git").write_text(f"gitdir: {meta}\n")
        else:
            (tree / ".git").mkdir()
        head = codex("session_meta", id=name, cwd=str(tree))
        transcript(lh, head, said_in_codex("user", f"cache {name}"), name=f"{name}.jsonl")
    mine = client(lh)
    found = mine("docs.transcripts.search", query="cache", cwd_prefix=str(away / "real"))
    assert len(found["hits"]) == 1
    assert mine("docs.transcripts.open", ref={"path": "real.jsonl", "line": 2})["entries"]
    assert mine.refused("docs.transcripts.open", ref={"path": "forged.jsonl", "line": 2})
    forged = {"query": "cache", "cwd_prefix": str(away / "forged")}
    assert mine.refused("docs.transcripts.search", **forged)["code"] == "FORBIDDEN"


def say(lh: Lh, text: str) -> None:
    head = codex("session_meta", id="x", cwd=str(lh.house.settings.project_root))
    transcript(lh, head, said_in_codex("user", text))


@pytest.mark.proves("MEM-221")
def test_search_is_no_oracle_for_what_answers_hide(lh: Lh) -> None:
    say(lh, f"my key is ghp_{'a1B2' * 9} and the word is plain")
    assert lh("docs.transcripts.search", query="plain")["hits"]
    for guess in ("ghp_", *(f"ghp_{char}" for char in string.ascii_letters), "a1B2", "2 and"):
        assert lh("docs.transcripts.search", query=guess)["hits"] == [], guess


@pytest.mark.parametrize("how", ["grep --color", "an 8-bit control", "overstruck", "NUL"])
def test_a_disguised_secret_in_a_conversation_is_hidden(lh: Lh, how: str) -> None:
    """Its control characters are shown as pictures, behind which nothing would recognize it."""
    secret = "ghp_" + "a1B2c3D4e5" * 4
    head = codex("session_meta", id="x", cwd=str(lh.house.settings.project_root))
    line = f"the key is {DISGUISES[how](secret)} indeed"
    transcript(lh, head, said_in_codex("assistant", line))
    ref = {"path": "session.jsonl", "line": 2}
    for cmd, args in (
        ("docs.transcripts.open", {"ref": ref}),
        ("docs.transcripts.digest", {"mode": "last"}),
        ("docs.transcripts.search", {"query": "indeed", "context_chars": 400}),
    ):
        said = str(lh.envelope(cmd, **args))
        assert "indeed" in said
        assert not re.search("3.{0,9}D.{0,9}4.{0,9}e.{0,9}5.{0,9}a.{0,9}1", said), cmd


@pytest.mark.parametrize("ends", [True, False])
def test_no_part_of_a_long_private_key_is_shown(lh: Lh, ends: bool) -> None:
    body = "\n".join("MIIEowIBAAKCAQEA" * 4 for _ in range(50))
    end = "\n-----END RSA PRIVATE KEY-----" if ends else ""
    say(lh, f"here: -----BEGIN RSA PRIVATE KEY-----\n{body}{end}\nthat was it")
    for query in ("-----END RSA PRIVATE", "MIIEow", "that was it", "here:"):
        found = lh("docs.transcripts.search", query=query, context_chars=1200)
        assert "MIIE" not in str(found["hits"])
    opened = lh.envelope("docs.transcripts.open", ref={"path": "session.jsonl", "line": 2})
    assert "MIIE" not in str(opened)


def test_what_is_offered_as_a_note_is_redacted_before_it_is_cut(lh: Lh) -> None:
    token = "ghp_" + "a1B2" * 9
    say(lh, "x" * 1_985 + f" {token}")
    opened = lh.envelope("docs.transcripts.open", ref={"path": "session.jsonl", "line": 2})
    assert "save this as a note" in str(opened)
    assert "a1B2" not in str(opened)


def test_the_person_and_managers_still_read_them(lh: Lh, other: Path) -> None:
    for caller in (Caller(Role.AGENT, owner="operator/1"), Caller(Role.MANAGER, owner="TOK-m")):
        answer = lh.house.call("docs.transcripts.search", {"query": "cache"}, caller)
        assert answer.success
