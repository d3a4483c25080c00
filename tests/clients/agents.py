"""The real command lines, each in a private home, with a scripted model and nobody else to talk to.

Every other address than loopback is sent to a proxy that answers nothing and counts who asked.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.config import load
from tests.clients.scripted.model import Model
from tools import clients

LONGHOUSE = str(Path(sys.executable).with_name("longhouse"))
RUN_S = 90


class Ran(NamedTuple):
    """How a run ended, and every event that the client printed."""

    code: int
    events: list[dict[str, Any]]
    error: str

    def __repr__(self) -> str:
        return f"exit {self.code}: {self.error[-1000:]} {json.dumps(self.events[-2:])[-2000:]}"


class Blocked:
    """A proxy that lets nothing through and remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                self.asked.append(connection.recv(200).decode("latin-1").partition("\r\n")[0])

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


class Agent:
    """What both clients share: a project, a home, and how one is run."""

    name: str
    handshake_over_http: bool

    def __init__(self, base: Path, proxy: Blocked) -> None:
        self.project = base / "acme"
        self.home = base / "home"
        own = self.home / ".config" / "longhouse"
        (self.project / ".git").mkdir(parents=True)
        for folder in (own, base / "tmp"):
            folder.mkdir(parents=True)
        # A job that an agent makes here is nobody's to run.
        (own / "config.toml").write_text("runner_autostart = false\n")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TMPDIR": str(base / "tmp"),
            "HTTP_PROXY": proxy.url,
            "HTTPS_PROXY": proxy.url,
            "http_proxy": proxy.url,
            "https_proxy": proxy.url,
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
        }

    @property
    def store(self) -> Path:
        return load(environ={"HOME": str(self.home)}, cwd=self.project).dir

    def made_store(self) -> Path:
        load(environ={"HOME": str(self.home)}, cwd=self.project).make_dir()
        return self.store

    def longhouse(self, *words: str) -> str:
        ran = subprocess.run(
            [LONGHOUSE, *words],
            cwd=self.project,
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return ran.stdout

    def argv(self, prompt: str) -> list[str]:
        raise NotImplementedError

    def prepare(self, model: Model) -> None:
        raise NotImplementedError

    def over_http(self, url: str, token: str) -> None:
        raise NotImplementedError

    def final(self, ran: Ran) -> str:
        raise NotImplementedError

    @contextmanager
    def started(self, model: Model) -> Iterator[subprocess.Popen[str]]:
        self.prepare(model)
        with subprocess.Popen(
            self.argv("Go."),
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()

    def run(self, model: Model) -> Ran:
        with self.started(model) as process:
            return self.ended(process)

    def ended(self, process: subprocess.Popen[str], number: signal.Signals | None = None) -> Ran:
        if number is not None:
            process.send_signal(number)
        out, error = process.communicate(timeout=RUN_S)
        events = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        return Ran(process.returncode, events, error)


class Claude(Agent):
    name = "claude-code"
    handshake_over_http = False

    def argv(self, prompt: str) -> list[str]:
        return [
            clients.claude(),
            "-p",
            prompt,
            "--output-format",
            "stream-json",
            "--verbose",
            "--model",
            "sonnet",
            "--permission-mode",
            "dontAsk",
        ]

    def prepare(self, model: Model) -> None:
        self.environment |= {
            "CLAUDE_CONFIG_DIR": str(self.home / "claude"),
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "sk-dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
        }

    def over_http(self, url: str, token: str) -> None:
        entry = {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}
        file = self.project / ".mcp.json"
        file.write_text(json.dumps({"mcpServers": {"longhouse": entry}}))

    def final(self, ran: Ran) -> str:
        result = ran.events[-1]
        assert (result["type"], result["is_error"]) == ("result", False), ran
        text: str = result["result"]
        return text


CODEX = """\
# a person's own settings
model = "scripted-1"
model_provider = "loopback"
model_context_window = 200000
approval_policy = "never"
check_for_update_on_startup = false
web_search = "disabled"

[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "LOOPBACK_KEY"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false

[analytics]
enabled = false
[feedback]
enabled = false
[otel]
exporter = "none"
trace_exporter = "none"
metrics_exporter = "none"
[history]
persistence = "none"
[features]
plugins = false  # this one keeps it off the network
remote_plugin = false
apps = false
plugin_sharing = false
plugin_discovery_prefetch = false
multi_agent = false

[projects."{project}"]
trust_level = "trusted"
"""


class Codex(Agent):
    name = "codex"
    handshake_over_http = True

    def argv(self, prompt: str) -> list[str]:
        return [
            clients.codex(),
            "exec",
            "--strict-config",
            "--json",
            "--skip-git-repo-check",
            "-s",
            "workspace-write",
            prompt,
        ]

    def prepare(self, model: Model) -> None:
        home = self.home / ".codex"
        home.mkdir(exist_ok=True)
        text = CODEX.format(url=model.url, project=self.project)
        (home / "config.toml").write_text(text)
        self.environment |= {"CODEX_HOME": str(home), "LOOPBACK_KEY": "dummy"}

    def over_http(self, url: str, token: str) -> None:
        folder = self.project / ".codex"
        folder.mkdir(exist_ok=True)
        entry = (
            f'[mcp_servers.longhouse]\nurl = "{url}"\nbearer_token_env_var = "LH_TOKEN"\n'
            'required = true\ndefault_tools_approval_mode = "approve"\n'
        )
        (folder / "config.toml").write_text(entry)
        self.environment["LH_TOKEN"] = token

    def final(self, ran: Ran) -> str:
        assert ran.events[-1]["type"] == "turn.completed", ran
        said = [
            event["item"]["text"]
            for event in ran.events
            if event.get("item", {}).get("type") == "agent_message"
        ]
        text: str = said[-1]
        return text
