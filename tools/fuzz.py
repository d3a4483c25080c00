"""Fuzzes the HTTP API from its own OpenAPI document, with a token of each role: `make fuzz`.

Schemathesis generates valid and invalid requests from the schemas and checks every response against
the document. It has its own virtual environment, since nothing else needs it. Each role runs to the
end, about 36,000 requests; `--examples 50` runs longer. Schemathesis skips `/events`, because a
stream never ends; this module opens it with odd arguments and closes it after the first line.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

SCHEMATHESIS = Path(__file__).parents[1] / ".venv/fuzz/bin/st"
ROLES = ("viewer", "agent", "manager", "operator")
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
STREAM = "/events"
ODD = (
    "",
    "0",
    "-1",
    "1e9",
    "9" * 40,
    "\u0661",
    "a\r\nb: c",
    "\0",
    "%",
    "&=",
    "../x",
    "\U0001f9ff",
    "x" * 9_000,
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--examples", type=int, default=3, help="random examples per path (default: 3)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--role", action="append", choices=ROLES, help="default: all roles")
    parser.add_argument("--path", help="only paths matching this regular expression")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="longhouse-fuzz-") as folder:
        store = Path(folder) / ".longhouse"
        flags = ["--dir", str(store)]
        _longhouse(folder, "up", *flags, "--port", "0")
        try:
            url = json.loads((store / "server.json").read_text())["url"]
            own = (store / "token").read_text().strip()
            codes = []
            for role in given.role or ROLES:
                token = _token(url, own, role)
                codes += [_fuzz(given, role, url, token, folder), _fuzz_stream(given, url, token)]
        finally:
            _longhouse(folder, "down", *flags)
    return max(codes)


def _longhouse(folder: str, *argv: str) -> None:
    """Run a command in `folder`, since some write into the project they are called from."""
    # The manager role may start runners; none should start here.
    none = {"LONGHOUSE_RUNNER_AUTOSTART": "0", "LONGHOUSE_AUTOSTART_RUNNERS": "0"}
    environment = {**os.environ, **none}
    command = [sys.executable, "-m", "longhouse", *argv]
    subprocess.run(command, check=True, env=environment, cwd=folder, stdout=subprocess.DEVNULL)


def _token(url: str, own: str, role: str) -> str:
    body = json.dumps({"role": role, "name": f"fuzz {role}"}).encode()
    asked = urllib.request.Request(
        f"{url}/call/system.token.create", body, {"Authorization": f"Bearer {own}"}
    )
    with urllib.request.urlopen(asked) as answer:
        token: str = json.load(answer)["result"]["token"]
    return token


def _fuzz(given: argparse.Namespace, role: str, url: str, token: str, folder: str) -> int:
    print(f"\n=== as {role} ===", flush=True)
    argv = [str(SCHEMATHESIS), "--no-color", "run", f"{url}/openapi.json"]
    argv += ["--header", f"Authorization: Bearer {token}"]
    argv += ["--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing"]
    argv += ["--max-examples", str(given.examples), "--seed", str(given.seed)]
    argv += ["--request-timeout", "70", "--suppress-health-check", "all", "--warnings", "off"]
    argv += ["--continue-on-failure", "--workers", "1"]
    argv += ["--exclude-path", STREAM]
    if given.path:
        argv += ["--include-path-regex", given.path]
    # Schemathesis leaves files in its working directory.
    return subprocess.run(argv, check=False, cwd=folder).returncode


def _fuzz_stream(given: argparse.Namespace, url: str, token: str) -> int:
    """Open streams with odd arguments: each must start, or be refused with our error envelope."""
    if given.path and not re.search(given.path, STREAM):
        return 0
    failed = tried = 0
    for query, last in _odd_streams(random.Random(given.seed), 100 * given.examples):
        headers = {"Authorization": f"Bearer {token}"} | ({"Last-Event-ID": last} if last else {})
        asked = urllib.request.Request(f"{url}{STREAM}?{query}", headers=headers)
        try:
            with urllib.request.urlopen(asked, timeout=70) as stream:
                kind, first = stream.headers.get_content_type(), stream.readline()
            ok = (kind, first[:6]) == ("text/event-stream", b"retry:")
        except urllib.error.HTTPError as refused:
            said = json.loads(refused.read())
            ok = refused.code < 500 and not said["success"] and bool(said["error"]["recovery"])
        tried += 1
        if not ok:
            failed += 1
            print(f"{STREAM}?{query[:200]} Last-Event-ID={last!r}: violates the document")
    print(f"{STREAM}: {tried} streams requested, {failed} violate the document", flush=True)
    return int(failed > 0)


def _odd_streams(chance: random.Random, count: int) -> Iterator[tuple[str, str | None]]:
    names = ("workspace", "stream", "subject", "after", "unknown")
    for _ in range(count):
        chosen = chance.choices(names, k=chance.randint(0, 4))
        pairs = [(name, chance.choice((*ODD, "jobs", "JOB-001", "1"))) for name in chosen]
        last = chance.choice((None, None, "0", "1", "-1", "9" * 17, "x", "\xb2"))
        yield urllib.parse.urlencode(pairs), last


if __name__ == "__main__":
    sys.exit(main())
