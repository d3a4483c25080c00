"""Compares memory with the MCP project's reference memory server, at 10,000 entities.

Both speak MCP over stdio, the peer's only transport, with the same client. The peer is installed
from npm into a folder of its own; if npm cannot be reached, the benchmark says so and compares
nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench._harness import interleave, report

PACKAGE = "@modelcontextprotocol/server-memory"
ENTITIES = 10_000
MATCHES = 10
PIPELINED = 50
INSTALL_SECONDS = 180


class Server:
    """An MCP server process, driven by JSON-RPC over its stdin and stdout."""

    def __init__(self, argv: list[str], **environment: str) -> None:
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={"PATH": os.environ["PATH"], **environment},
        )
        self.count = 0
        client = {"name": "bench", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self.answer(self.send("initialize", params))
        self.send("notifications/initialized", {}, notify=True)

    def send(self, method: str, params: dict[str, Any], *, notify: bool = False) -> int:
        self.count += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if not notify:
            message["id"] = self.count
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return self.count

    def answer(self, id_: int | None = None) -> dict[str, Any]:
        """The next answer, or the answer to one call."""
        assert self.process.stdout
        for line in self.process.stdout:
            message: dict[str, Any] = json.loads(line)
            if "id" in message and id_ in (None, message["id"]):
                assert "error" not in message, message
                return message
        raise RuntimeError("the server ended")

    def call(self, tool: str, args: dict[str, Any]) -> Any:
        """The parsed result of one tool call."""
        result = self.answer(self.send("tools/call", {"name": tool, "arguments": args}))["result"]
        assert not result.get("isError"), result
        return json.loads(result["content"][0]["text"])

    def pipeline(self, tool: str, calls: list[dict[str, Any]]) -> None:
        """Send all calls before waiting for any answer."""
        for args in calls:
            self.send("tools/call", {"name": tool, "arguments": args})
        for _ in calls:
            assert not self.answer()["result"].get("isError")

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait(timeout=20)


class Peer(Server):
    tool = "create_entities"

    def __init__(self, folder: Path, memory: Path) -> None:
        script = folder / "node_modules" / PACKAGE / "dist" / "index.js"
        super().__init__(["node", str(script)], MEMORY_FILE_PATH=str(memory))

    def creation(self, names: list[str]) -> dict[str, Any]:
        return {
            "entities": [
                {"name": name, "entityType": "thing", "observations": [observation(name)]}
                for name in names
            ]
        }

    def search(self) -> int:
        return len(self.call("search_nodes", {"query": "needle"})["entities"])


class Longhouse(Server):
    tool = "graph"

    def __init__(self, folder: Path) -> None:
        argv = [sys.executable, "-c", "from longhouse.surfaces.cli import main; main()"]
        super().__init__([*argv, "mcp", "--embedded", "--dir", str(folder / ".longhouse")])

    def creation(self, names: list[str]) -> dict[str, Any]:
        ops = [
            {"op": "node_upsert", "id": name, "type": "thing", "text": observation(name)}
            for name in names
        ]
        return {"op": "apply", "args": {"ops": ops}}

    def search(self) -> int:
        found = self.call("graph", {"op": "query", "args": {"text": "needle"}})
        return len(found["result"]["nodes"])


def observation(name: str) -> str:
    rare = name.isdigit() and int(name) % (ENTITIES // MATCHES) == 0
    return f"observed {name}" + (" needle" if rare else "")


def compare(peer: Peer, ours: Longhouse) -> None:
    names = [str(n) for n in range(ENTITIES)]
    peer.call(peer.tool, peer.creation(names))
    for start in range(0, ENTITIES, 1_000):
        ours.call(ours.tool, ours.creation(names[start : start + 1_000]))
    fresh = iter(range(10**6))

    def creating(side: Peer | Longhouse, calls: int) -> float:
        started = time.perf_counter()
        for _ in range(calls):
            side.call(side.tool, side.creation([f"new-{next(fresh)}"]))
        return calls / (time.perf_counter() - started)

    def searching(side: Peer | Longhouse, calls: int) -> float:
        started = time.perf_counter()
        for _ in range(calls):
            assert side.search() == MATCHES
        return calls / (time.perf_counter() - started)

    for name, work, promise in (
        ("write", creating, ">=20.0"),
        ("search", searching, ">=10.0"),
    ):
        figures = interleave(
            {"peer": lambda w=work: w(peer, 10), "longhouse": lambda w=work: w(ours, 100)}  # type: ignore[misc]
        )
        report(f"memory-peer-{name}", figures.ratio("longhouse", "peer"), promise, figures)


def pipelined(folder: Path, ours: Longhouse) -> None:
    """Send many creates before any is answered, then count how many were kept."""
    memory = folder / "pipelined.jsonl"
    names = [f"p{n}" for n in range(PIPELINED)]
    with closing(Peer(folder, memory)) as peer:
        peer.pipeline(peer.tool, [peer.creation([name]) for name in names])
    theirs = len(memory.read_text().splitlines())
    print(f"# the peer kept {theirs} of {PIPELINED} pipelined, acknowledged creates")
    ours.pipeline(ours.tool, [ours.creation([name]) for name in names])
    found = ours.call("graph", {"op": "query", "args": {"ids": names}})["result"]["nodes"]
    report("memory-peer-pipelined", len(found) / PIPELINED, ">=1.0")


@contextmanager
def closing(server: Any) -> Iterator[Any]:
    try:
        yield server
    finally:
        server.close()


def installed(folder: Path) -> str | None:
    """Install the peer; returns the reason if that failed."""
    if not shutil.which("npm") or not shutil.which("node"):
        return "node and npm are not installed"
    try:
        done = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), PACKAGE],
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "npm did not answer in time"
    return None if done.returncode == 0 else f"npm failed: {done.stderr.strip()[-200:]}"


def main() -> None:
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base)
        if trouble := installed(folder):
            print(f"# {PACKAGE} could not be installed: {trouble}")
            print("# nothing was compared; run this again where an npm registry can be reached")
            report("memory-peer-absent", 1.0, ">=1.0")
            return
        with (
            closing(Peer(folder, folder / "memory.jsonl")) as peer,
            closing(Longhouse(folder)) as ours,
        ):
            compare(peer, ours)
            pipelined(folder, ours)


if __name__ == "__main__":
    main()
