"""Reasoning from the command line: think, pack, transcripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.cli.conftest import Shell
from tests.thinking.world import codex, said_in_codex


def test_cards_are_written_listed_shown_and_settled(sh: Shell) -> None:
    assert sh("think", "list").out == "no cards in graph on main\n"
    assert sh("think", "add", "hypothesis", "It is stale", "--id", "CARD-H1").out == (
        "CARD-H1 is created on main\n"
    )
    said = "Read after write\nTwice, and then once more.\n"
    words = ("think", "add", "test", "-", "--id", "CARD-T1", "--supports", "CARD-H1")
    assert sh(*words, "--cmd", "make bench", "--tag", "slow", stdin=said).code == 0
    assert sh(*words, stdin="Read after write\n").out == "CARD-T1 is unchanged on main\n"
    assert sh(*words, stdin="Read twice\n").out == "CARD-T1 is updated on main\n"
    out = sh("think", "list").out.splitlines()
    assert out[0].split() == ["CARD", "TYPE", "STATUS", "WHEN", "SAYS"]
    assert out[1].startswith("CARD-T1  test        open    just now  Read twice")
    assert sh("think", "list", "--types", "hypothesis", "--json").json["data"]["cards"][0][
        "id"
    ] == ("CARD-H1")
    shown = sh("think", "show", "CARD-T1").out.splitlines()
    assert shown[0] == "CARD-T1  Read twice"
    assert "  supports  CARD-H1" in shown
    assert "  Twice, and then once more." in shown
    assert sh("think", "set", "done", "CARD-T1", "CARD-H1").out.splitlines() == [
        "CARD-T1 is done",
        "CARD-H1 is done",
    ]
    assert sh("think", "pin", "CARD-H1").out == "CARD-H1 is done, pinned\n"
    assert sh("think", "blast", "CARD-T1").out.splitlines()[-1].startswith("CARD-H1  hypothesis")
    assert sh("think", "blast", "CARD-H1").out.splitlines()[-1] == "  nothing"
    assert sh("think", "show", "CARD-NONE").code == 3
    assert sh("think", "add", "guess", "x").code == 2
    assert sh("think", "add", "note", "").code == 2


def test_a_pack_says_what_to_do_next(sh: Shell) -> None:
    sh("think", "add", "hypothesis", "It is stale", "--id", "CARD-H1")
    out = sh("pack").out.splitlines()
    assert out[0] == "main"
    assert out[-3].startswith("BM4_HYPOTHESIS_NO_TEST")
    assert out[-2] == "to do: Add a test for It is stale"
    assert out[-1].startswith("next: longhouse ")
    assert sh("pack", "--max-chars", "2").out.splitlines()[-1].startswith("next: ")
    assert sh("pack", "--json").json["data"]["capsule"]["ref"] == "CARD-H1"


def test_transcripts_are_searched_opened_and_summed_up(
    sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "said"
    folder.mkdir()
    lines = [
        codex("session_meta", id="s", cwd=str(sh.root)),
        said_in_codex("assistant", "Summary: the cache is cold"),
    ]
    (folder / "s.jsonl").write_text("\n".join(lines) + "\n")
    where = ("--root-dir", str(folder))
    monkeypatch.setenv("LONGHOUSE_TRANSCRIPTS", str(folder))
    found = sh("transcripts", "search", "cache", *where).out.splitlines()
    assert found == [
        "s.jsonl:2  assistant  2026-01-01T00:00:01Z",
        "    Summary: the cache is cold",
        "1 hit in 1 file",
    ]
    digest = sh("transcripts", "digest", *where).out.splitlines()
    assert digest[1] == "    Summary: the cache is cold"
    opened = sh("transcripts", "open", "s.jsonl", "--line", "2", *where).out.splitlines()
    assert opened[-1] == "    Summary: the cache is cold"
    assert sh("transcripts", "open", "../x.jsonl", *where).code == 2
