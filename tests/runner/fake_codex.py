#!/usr/bin/env python3
"""A fake of the Codex CLI: does what the prompt scripts and prints what `codex exec --json` prints.

The job's prompt holds lines `[[n: …]]`, n being the slice (or `*`), each a Python statement that
may use the names below. Standard library only; nothing of the real CLI is in here.
"""

import json
import os
import re
import signal  # noqa: F401  (for scripts)
import subprocess
import sys
import time  # noqa: F401  (for scripts)
import tomllib
from pathlib import Path

PROMPT = sys.stdin.read()
ARGV = sys.argv[1:]
SLICE = int(re.findall(r"This is slice (\d+)", PROMPT)[0])
NAMED = re.findall(r"(job|runner_id|claim_revision|workspace)=(\S+)", PROMPT)
FENCE = dict(reversed(NAMED))  # the claim precedes everything else in the prompt
RESUMED = ARGV[ARGV.index("--") + 1] if "resume" in ARGV else None
THREAD = RESUMED or f"thread-{os.getpid()}"
STATE = Path(os.environ["FAKE_STATE"]) / FENCE["job"]


def emit(**event):
    print(json.dumps(event), flush=True)


def say(text):
    emit(type="item.completed", item={"id": "item_1", "type": "agent_message", "text": text})


def answer(status, summary="did it", refs=(), events=(), artifacts=(), used=100):
    say(
        json.dumps(
            {
                "status": status,
                "summary": summary,
                "refs": list(refs),
                "events": list(events),
                "artifacts": list(artifacts),
            }
        )
    )
    emit(type="turn.completed", usage={"input_tokens": used, "output_tokens": used // 5})


def done(*refs, **more):
    answer("DONE", refs=refs, **more)


def go_on(**more):
    answer("CONTINUE", **more)


def ask(question):
    go_on(events=[{"kind": "question", "message": question, "percent": None, "refs": []}])


def fail(message):
    emit(type="error", message=message)
    emit(type="turn.failed", error={"message": message})
    sys.exit(1)


def remember(word=None):
    """Append a line to the trace that the test reads."""
    STATE.mkdir(parents=True, exist_ok=True)
    with (STATE / "trace").open("a") as file:
        file.write(f"{word if word is not None else SLICE}\n")


def detach(seconds):
    """A grandchild in its own session that also ignores TERM; its pid is in the trace."""
    ready, says = os.pipe()
    code = (
        "import os,signal,time; signal.signal(15, signal.SIG_IGN); "
        f"os.close({says}); time.sleep({seconds})"
    )
    argv = [sys.executable, "-c", code]
    child = subprocess.Popen(argv, start_new_session=True, pass_fds=(says,))
    os.close(says)
    os.read(ready, 1)  # until it ignores TERM
    remember(child.pid)


def longhouse(cmd, **args):
    """Call a command as the real CLI does, through the MCP server the runner has configured."""
    (entry,) = [word for word in ARGV if word.startswith("mcp_servers.longhouse=")]
    server = tomllib.loads(entry.replace("mcp_servers.longhouse", "longhouse", 1))["longhouse"]
    call = {"workspace": FENCE["workspace"], "op": "call", "cmd": cmd, "args": args}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
    hello["clientInfo"] = {"name": "fake-codex", "version": "1"}
    lines: list[dict] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": cmd.split(".")[0], "arguments": call}},
    ]
    bridge = subprocess.Popen(
        [server["command"], *server["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert bridge.stdin
    assert bridge.stdout
    for line in lines:
        bridge.stdin.write(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n")
        bridge.stdin.flush()
    for said in bridge.stdout:
        answer = json.loads(said)
        if answer.get("id") == 2:
            bridge.stdin.close()
            bridge.wait()
            return json.loads(answer["result"]["content"][0]["text"])
    return None


def report(message, **more):
    """Report under the claim that the prompt gave; what is in `more` may try for more than that."""
    fence = {"job": FENCE["job"], "runner_id": FENCE["runner_id"]}
    fence["claim_revision"] = int(FENCE["claim_revision"])
    said = longhouse("jobs.report", **{**fence, "message": message, **more})
    remember("told" if said["success"] else said["error"]["code"])


def main():
    STATE.mkdir(parents=True, exist_ok=True)
    (STATE / f"prompt-{SLICE}").write_text(PROMPT)
    (STATE / f"argv-{SLICE}").write_text(json.dumps(ARGV))
    emit(type="thread.started", thread_id=THREAD)
    emit(type="turn.started")
    script = PROMPT if "[[" in PROMPT else (STATE / "prompt-1").read_text()
    found = re.findall(r"^\[\[(\d+|\*): (.*)\]\]$", script, re.MULTILINE)
    wanted = dict(found).get(str(SLICE), dict(found).get("*"))
    if wanted is None:
        fail(f"nothing is scripted for slice {SLICE}")
    exec(wanted or "", globals())


if __name__ == "__main__":
    main()
