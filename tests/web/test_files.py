"""How the page is served: its security policy and its files, all of them in the wheel."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from longhouse.surfaces.cli.parse import ParsedLine, parse
from tests.surfaces.serving import Served, served
from tools.page import STATIC, build

__all__ = ["served"]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    build()


def test_the_page_lets_in_no_script_but_its_own_and_a_fresh_nonce_each_time(served: Served) -> None:
    first, second = served.http.get("/"), served.http.get("/jobs/JOB-001")
    nonces = set()
    for answer in (first, second):
        policy = answer.headers["content-security-policy"]
        for part in ("default-src 'none'", "script-src 'self';", "require-trusted-types-for"):
            assert part in policy
        assert "unsafe" not in policy
        nonce = re.search(r"'nonce-([\w-]{20,})'", policy)
        assert nonce
        assert f'content="{nonce[1]}"' in answer.text
        nonces.add(nonce[1])
        assert not re.search(r"<script(?![^>]* src=)|<style| on\w+=| style=", answer.text)
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert len(nonces) == 2


def test_files_with_a_digest_in_their_name_are_kept_for_ever_and_compressed(served: Served) -> None:
    script = re.search(r'src="(/static/assets/[^"]+\.js)"', served.http.get("/").text)
    assert script
    answer = served.http.get(script[1])
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.text == (STATIC / script[1].removeprefix("/static/")).read_text()


@pytest.mark.parametrize(
    "name",
    ["index.html", ".digest", "assets", "../page.py", "%2e%2e/page.py", "assets/../../page.py"],
)
def test_nothing_but_built_files_is_given_out(served: Served, name: str) -> None:
    assert served.http.get(f"/static/{name}").status_code == 404


def test_each_token_learns_what_it_may_do(served: Served) -> None:
    token, _ = served.new_token("viewer")
    with served.client(token) as http:
        shown = http.get("/api/me").json()
    assert shown["role"] == "viewer"
    assert served.http.get("/api/me").json()["role"] == "operator"


def test_the_wheel_has_the_page(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(argv, cwd=ROOT, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as archive:
        names = set(archive.namelist())
    for path in (path for path in STATIC.rglob("*") if path.is_file()):
        assert f"longhouse/surfaces/http/static/{path.relative_to(STATIC)}" in names


def test_every_command_line_that_the_page_shows_can_be_typed() -> None:
    views = [path.read_text() for path in sorted((ROOT / "web" / "src").rglob("*.tsx"))]
    shown = [line for view in views for line in re.findall(r"<code>\s*longhouse ([^<]+)<", view)]
    assert len(shown) > 10
    for line in shown:
        parse(shlex.split(re.sub(r"\{[^}]+\}", "TASK-001", line)), ParsedLine())
