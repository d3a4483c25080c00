"""A bridge in its own process, driven line by line, and a server that follows a script."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from longhouse.__about__ import __version__
from longhouse.client import locate
from longhouse.client.greeting import proof_of

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"roots": {}},
    "clientInfo": {"name": "kit", "version": "1"},
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "kit", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
WAIT_S = 60
PATIENCE_S = 4 * WAIT_S
"""A scan is followed by a pause of ten times its duration, which is long on a busy machine."""


class Bridge:
    """One `longhouse mcp`."""

    def __init__(
        self,
        store: Path,
        *flags: str,
        modern: bool = False,
        cwd: Path | None = None,
        **variables: str,
    ) -> None:
        self._meta = {"_meta": META} if modern else {}
        self._next = 0
        clean = {k: v for k, v in os.environ.items() if not k.startswith("LONGHOUSE_")}
        clean["LONGHOUSE_RUNNER_AUTOSTART"] = "0"
        clean.update(variables)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "longhouse", "mcp", "--dir", str(store), "-w", "acme", *flags],
            bufsize=0,
            cwd=cwd,
            env=clean,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def raw(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")

    def send(self, method: str, **params: Any) -> int:
        self._next += 1
        params = {**params, **self._meta}
        message = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}
        self.raw(json.dumps(message).encode())
        return self._next

    def notify(self, method: str, **params: Any) -> None:
        self.raw(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def read(self) -> dict[str, Any]:
        assert self.process.stdout
        assert select.select([self.process.stdout], [], [], WAIT_S)[0], "no answer"
        message: dict[str, Any] = json.loads(self.process.stdout.readline())
        return message

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        sent, message = self.send(method, **params), self.read()
        assert message["id"] == sent, message
        return message

    def call(self, tool: str, **arguments: Any) -> tuple[dict[str, Any], bool]:
        """The envelope of a tool's answer, and whether it is an error."""
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        return json.loads(result["content"][0]["text"]), result["isError"]

    def close(self) -> int:
        """Close its input, as a client does; returns its exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.stdin = None
        return self.process.wait(WAIT_S)


def crew(client: Bridge, cmd: str, **args: Any) -> Any:
    envelope, failed = client.call("workspace", op="call", cmd=cmd, args=args)
    assert not failed, envelope
    return envelope["result"]


def until_seen(
    client: Bridge, expected: set[str], change: Callable[[int], None], **where: str
) -> list[tuple[str, str]]:
    """Change files between calls until these were reported; returns (file, who saw it) pairs."""
    ends, number = time.monotonic() + PATIENCE_S, 0
    told: list[tuple[str, str]] = []
    while not expected <= {path for path, _ in told}:
        assert time.monotonic() < ends, told
        number += 1
        change(number)
        seen = crew(client, "agents.status", **where)["outside"]
        assert not any("job_id" in one for one in seen)
        told = [(file["path"], one["agent_id"]) for one in seen for file in one["files"]]
    return sorted(told)


def set_up(store: Path, client: str, *flags: str) -> None:
    """`longhouse init`, which the person runs, for one client of a store."""
    longhouse(store, "init", "--client", client, "--scope", "user", *flags)


def longhouse(store: Path, *words: str, text: bool = False) -> Any:
    """The JSON output of a `longhouse` command, or everything it says to people.

    Client files are in the test's own home.
    """
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LONGHOUSE_")}
    clean |= {"LONGHOUSE_RUNNER_AUTOSTART": "0", "HOME": str(store.parent)}
    clean["XDG_CONFIG_HOME"] = f"{os.environ['HOME']}/.config"  # where the bridges look
    argv = [sys.executable, "-m", "longhouse", *words, "--dir", str(store), "-w", "acme"]
    argv += [] if text else ["--json"]
    ran = subprocess.run(argv, env=clean, cwd=store.parent, capture_output=True, check=True)
    return (ran.stdout + ran.stderr).decode() if text else json.loads(ran.stdout)


def end(client: Bridge, store: Path) -> int:
    """Close a bridge and everything it started; returns its exit code."""
    code = client.close()
    client.process.communicate()
    for pid in servers_of(store):
        os.kill(pid, signal.SIGKILL)
    return code


def servers_of(store: Path) -> list[int]:
    """The pids of all servers started for a store, whether or not they respond yet."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if {b"serve", os.fsencode(store)} <= set(words_of(pid))]


def words_of(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


KEY = "the key of a puppet"
Script = Callable[["Handler", dict[str, Any]], None]


class Handler(BaseHTTPRequestHandler):
    """Answers `/healthz` truthfully and leaves `/mcp` to a script."""

    protocol_version = "HTTP/1.1"
    server: Puppet

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        nonce = self.path.rpartition("=")[2]
        proof = proof_of(KEY, nonce)
        self.reply(200, {"ok": True, "instance": self.server.instance, "proof": proof})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        message = json.loads(body)
        if self.path == "/call/system.token.create":
            made = {"id": "TOK-puppet", "role": "agent", "token": "lh_of_the_client"}
            self.reply(200, {"success": True, "result": made, "error": None, "actions": []})
            return
        self.server.heard.append((dict(self.headers), message))
        self.server.script(self, message)

    def reply(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(2)


class Puppet(ThreadingHTTPServer):
    """Replaces the store's server, in this process."""

    daemon_threads = True

    def __init__(self, store: Path, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = script
        self.instance = "puppet"
        self.heard: list[tuple[dict[str, str], dict[str, Any]]] = []
        store.mkdir(exist_ok=True, mode=0o700)
        self._lock = os.open(store / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        note = {
            "pid": os.getpid(),
            "process_start": locate.process_start(os.getpid()),
            "url": f"http://127.0.0.1:{self.server_port}",
            "version": __version__,
            "started_at_ms": 0,
            "instance": self.instance,
            "key": KEY,
        }
        for name, text in (("server.json", json.dumps(note)), ("token", "lh_test")):
            (store / name).write_text(text)
            (store / name).chmod(0o600)
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()
        os.close(self._lock)


def text_result(id_: Any, text: str = '{"success":true}') -> dict[str, Any]:
    result = {
        "content": [{"type": "text", "text": text}],
        "isError": False,
        "resultType": "complete",
    }
    return {"jsonrpc": "2.0", "id": id_, "result": result}
