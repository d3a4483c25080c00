"""Fuzzes HTTP from its own OpenAPI document, with a token of each role: `make fuzz`.

Schemathesis makes requests from the schemas, valid and not, and holds every response to what the
document says of it. It lives in an environment of its own, since nothing else needs it. Each role
has five minutes, so that a run takes about twenty; `--seconds 3600` looks longer.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

SCHEMATHESIS = Path(__file__).parents[1] / ".venv/fuzz/bin/st"
ROLES = ("viewer", "agent", "manager", "operator")
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
LEFT_OUT = (
    "/events",  # never ends
    "/call/jobs.runner.start",  # starts a program
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=300, help="how long for each role")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--role", action="append", choices=ROLES, help="default: each of them")
    parser.add_argument("--path", help="only paths that match this regular expression")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="longhouse-fuzz-") as folder:
        store = Path(folder) / ".longhouse"
        flags = ["--dir", str(store)]
        _longhouse("up", *flags, "--port", "0")
        try:
            url = json.loads((store / "server.json").read_text())["url"]
            own = (store / "token").read_text().strip()
            codes = [
                _fuzz(given, role, url, _token(url, own, role), folder)
                for role in given.role or ROLES
            ]
        finally:
            _longhouse("down", *flags)
    return max(codes)


def _longhouse(*argv: str) -> None:
    environment = {**os.environ, "LONGHOUSE_RUNNER_AUTOSTART": "0"}
    command = [sys.executable, "-m", "longhouse", *argv]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


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
    argv += ["--max-time", str(given.seconds), "--seed", str(given.seed)]
    argv += ["--request-timeout", "70", "--suppress-health-check", "all", "--warnings", "off"]
    argv += ["--continue-on-failure", "--workers", "1"]
    for path in LEFT_OUT:
        argv += ["--exclude-path", path]
    if given.path:
        argv += ["--include-path-regex", given.path]
    # It leaves its notes where it runs.
    return subprocess.run(argv, check=False, cwd=folder).returncode


if __name__ == "__main__":
    sys.exit(main())
