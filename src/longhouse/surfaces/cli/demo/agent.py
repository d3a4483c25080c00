"""A scripted coding agent: it prints what `codex exec --json` would, and needs no model.

A job names its script in the prompt. The session id, which the runner passes back, records how far
the script has come, so that it can continue under another runner. Like any agent, it records its
findings through the MCP server that the runner names.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["SCRIPTS", "main"]


class Part(NamedTuple):
    """One slice: how long it takes, and what the agent reports at the end."""

    seconds: int
    summary: str
    percent: int
    asks: str = ""
    proof: str = ""
    writes: tuple[tuple[str, str], ...] = ()


SCRIPTS = {
    "port": (
        Part(3, "Read the old fixtures: 214 cases in three files.", 20),
        Part(
            12,
            "Ported 130 cases; those with tabs differ.",
            60,
            asks="**Keep the tabs** in the fixtures, or turn them into spaces?",
            writes=(("tests/parser/words.json", '[["a b", ["a", "b"]]]\n'),),
        ),
        Part(
            30,
            "All 214 cases are ported.\nCMD: pytest tests/parser (exit 0)",
            100,
            proof="Ported 214 tokenizer cases; 214 pass.",
            writes=(
                ("tests/parser/tabs.json", '[["a\\tb", ["a", "b"]]]\n'),
                ("src/parser/lexer.py", "def words(text):\n    return text.split()\n"),
            ),
        ),
    ),
    "measure": (
        Part(15, "Built the corpus: 10,000 queries from last week.", 30),
        Part(60, "Ranked half of the corpus.", 65),
        Part(
            20,
            "Equal scores are ordered by date.\nCMD: bench/rank.py --corpus week (exit 0)",
            100,
            proof="Ranking: 96.2% of the first hits are right, up from 91.0%.",
        ),
    ),
}


def main() -> None:
    speed, argv, prompt = int(sys.argv[1]), sys.argv[2:], sys.stdin.read()
    name, at = _place(argv, prompt)
    part = SCRIPTS[name][at]
    _say(type="thread.started", thread_id=f"demo-{name}-{at + 1}")
    time.sleep(part.seconds / speed)
    for path, text in part.writes:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)
    refs = [_note(argv, prompt, part.proof)] if part.proof else []
    kind, words = ("question", part.asks) if part.asks else ("progress", part.summary)
    answer = {
        "status": "DONE" if refs else "CONTINUE",
        "summary": part.summary,
        "refs": refs,
        "events": [{"kind": kind, "message": words, "percent": part.percent, "refs": []}],
        "artifacts": [],
    }
    _say(type="item.completed", item={"type": "agent_message", "text": json.dumps(answer)})
    used = 4_200 * (at + 1)
    _say(type="turn.completed", usage={"input_tokens": used, "output_tokens": used // 6})


def _place(argv: list[str], prompt: str) -> tuple[str, int]:
    """The script, and which part of it comes next."""
    if "resume" in argv:
        _, name, at = argv[argv.index("--") + 1].split("-")
        return name, int(at)
    (name,) = re.findall(r"\bscript: (\w+)", prompt)[:1]
    return name, 0


def _note(argv: list[str], prompt: str, text: str) -> str:
    """Record the finding as a note; its ref is the proof."""
    prefix = "mcp_servers.longhouse="
    (given,) = [word.removeprefix(prefix) for word in argv if word.startswith(prefix)]
    server = tomllib.loads(f"server={given}")["server"]
    workspace = re.findall(r"workspace=(\S+)", prompt)[0]
    call = {"cmd": "vcs.notes.commit", "args": {"content": text}}
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "scripted-agent", "version": "1"},
    }
    lines: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "vcs", "arguments": {"workspace": workspace, "op": "call", **call}},
        },
    ]
    with subprocess.Popen(
        [server["command"], *server["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as bridge:
        assert bridge.stdin
        assert bridge.stdout
        for line in lines:
            bridge.stdin.write(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n")
        bridge.stdin.flush()
        for said in bridge.stdout:
            if (reply := json.loads(said)).get("id") == 2:
                break
        bridge.stdin.close()
    ref: str = json.loads(reply["result"]["content"][0]["text"])["result"]["ref"]
    return ref


def _say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


if __name__ == "__main__":
    main()
