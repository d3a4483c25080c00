"""The official inspector: it lists and calls over HTTP in both eras, and through the bridge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from longhouse.kernel.registry import PORTALS
from tests.surfaces.serving import Served
from tools.clients import NODE, bin_of

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]
ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])


def inspect(*words: str, cwd: Path) -> Any:
    environment = {
        "PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(cwd),
        "LANG": "C.UTF-8",
    }
    ran = subprocess.run(
        [*bin_of("inspector"), "--cli", *words],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=90,
        stdin=subprocess.DEVNULL,
    )
    assert ran.returncode == 0, ran.stdout[-1500:] + ran.stderr[-1500:]
    return json.loads(ran.stdout)


def over_http(served: Served, era: str) -> list[str]:
    header = f"Authorization: Bearer {served.token}"
    return [f"{served.url}/mcp", "--header", header, "--protocol-era", era]


def through_bridge(served: Served, era: str) -> list[str]:
    argv = [sys.executable, "-m", "longhouse", "mcp", "--dir", str(served.dir), "-w", "acme"]
    return [*argv, "--protocol-era", era]


@ERAS
@pytest.mark.parametrize("way", [over_http, through_bridge])
def test_the_inspector_lists_and_calls(served: Served, tmp_path: Path, way: Any, era: str) -> None:
    words = way(served, era)
    listed = inspect(*words, "--method", "tools/list", "--strict", cwd=tmp_path)
    assert [tool["name"] for tool in listed["tools"]] == list(PORTALS)
    called = inspect(
        *words,
        "--method",
        "tools/call",
        "--tool-name",
        "status",
        "--tool-arg",
        "fmt=lines",
        cwd=tmp_path,
    )
    assert called["content"][0]["text"].startswith(("new ", "ready "))
