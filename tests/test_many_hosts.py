"""The page "From one laptop to many hosts", walked: two hosts are two folders and two ports."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

import longhouse
from longhouse.client import locate
from longhouse.config import load
from longhouse.desk.types.status import GetStatus
from longhouse.kernel.errors import Unauthenticated
from longhouse.memory.types.documents import CommitNote
from tests.walks import Step, blocks, matches, steps

PAGE = "docs/many-hosts.md"
HOSTS = ("laptop", "one", "two")


class Hosts:
    """Machines that have nothing in common but a database."""

    def __init__(self, base: Path, db: str) -> None:
        self.base = base
        self.db = db
        self.ports = {host: str(_free_port()) for host in HOSTS}
        for host in HOSTS:
            # The repository has its name on every machine.
            (self.root(host) / ".git").mkdir(parents=True)

    def root(self, host: str) -> Path:
        return self.base / host / "acme"

    def type(self, host: str, command: str) -> str:
        """What a command prints on that host, with the page's names put into this test's terms."""
        given = (
            command.replace("postgresql://longhouse@db.example/longhouse", self.db)
            .replace("0.0.0.0", "127.0.0.1")
            .replace("7331", self.ports[host])
            .replace("acme.tar", str(self.base / "acme.tar"))
        )
        clean = {k: v for k, v in os.environ.items() if not k.startswith("LONGHOUSE_")}
        clean["LONGHOUSE_RUNNER_AUTOSTART"] = "0"
        clean["HOME"] = str(self.base / host)
        clean.pop("XDG_CONFIG_HOME", None)
        path = f"{Path(sys.executable).parent}{os.pathsep}{clean['PATH']}"
        ran = subprocess.run(
            ["bash", "-c", given],
            cwd=self.root(host),
            text=True,
            timeout=60,
            env={**clean, "PATH": path, "NO_COLOR": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        return ran.stdout

    def url(self, host: str) -> str:
        return f"http://127.0.0.1:{self.ports[host]}"

    def store(self, host: str) -> Path:
        return load(environ={"HOME": str(self.base / host)}, cwd=self.root(host)).dir

    def leads(self, host: str) -> bool:
        token = locate.token_of(self.store(host))
        headers = {"authorization": f"Bearer {token}"}
        page = httpx2.get(f"{self.url(host)}/metrics", headers=headers, timeout=60).text
        return "\nlonghouse_leading 1\n" in page


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def hosts(tmp_path: Path, fresh_postgres_url: str) -> Iterator[Hosts]:
    made = Hosts(tmp_path, fresh_postgres_url)
    yield made
    for host in HOSTS:
        made.type(host, "longhouse down --force")


def test_the_page_goes_as_it_says_and_keeps_its_promises(hosts: Hosts) -> None:
    walk = list(steps(PAGE))
    leaving = next(n for n, step in enumerate(walk) if step.command == "longhouse down")
    printed = [follow(hosts, step) for step in walk[:leaving]]
    (token,) = re.findall(r"lh_[0-9a-f]{64}", "".join(printed[: _starts(walk)]))
    a_token_of_one_host_works_on_every_host(hosts, token)
    a_follower_on_one_host_hears_of_a_write_on_another(hosts, token)
    one_leads(hosts)
    for step in walk[leaving:]:
        follow(hosts, step)
    another_takes_over(hosts)
    no_host_has_a_folder_of_artifacts(hosts)
    a_revoked_token_works_on_no_host(hosts, token)


def follow(hosts: Hosts, step: Step) -> str:
    printed = hosts.type(step.where, step.command)
    told = f"{step.where}$ {step.command}\n{printed}\nbut the page says\n{step.said}"
    assert matches(step.said, printed), told
    return printed


def _starts(walk: list[Step]) -> int:
    return next(n for n, step in enumerate(walk) if step.command.startswith("longhouse up"))


def a_token_of_one_host_works_on_every_host(hosts: Hosts, token: str) -> None:
    snippet = blocks(PAGE, "python")[0].replace("lh_…", token)
    for host in ("one", "two"):
        program = snippet.replace("http://two.example:7331", hosts.url(host))
        ran = subprocess.run(
            [sys.executable, "-c", program], cwd=hosts.base, capture_output=True, text=True
        )
        assert ran.stdout.startswith("acme at seq "), ran.stderr


def a_follower_on_one_host_hears_of_a_write_on_another(hosts: Hosts, token: str) -> None:
    with longhouse.connect(hosts.url("two"), token=token, workspace="acme") as lh:
        seq = lh(GetStatus()).seq
        heard = lh.events(seq, follow=True)
        with longhouse.connect(hosts.url("one"), token=token, workspace="acme") as other:
            other(CommitNote(content="Hear, hear."))
        assert (next(heard).seq, lh(GetStatus()).seq) == (seq + 1, seq + 1)


def one_leads(hosts: Hosts) -> None:
    while not hosts.leads("one"):
        pass  # it asks as soon as it has started
    assert not hosts.leads("two")


def another_takes_over(hosts: Hosts) -> None:
    while not hosts.leads("two"):
        pass  # the time limit of a test bounds it


def no_host_has_a_folder_of_artifacts(hosts: Hosts) -> None:
    assert hosts.store("laptop").is_dir()
    for host in ("one", "two"):
        assert hosts.store(host).is_dir()
        assert not (hosts.store(host) / "artifacts").exists()


def a_revoked_token_works_on_no_host(hosts: Hosts, token: str) -> None:
    (token_id,) = re.findall(r"TOK-\w+", hosts.type("one", "longhouse token list --json"))
    hosts.type("one", f"longhouse token revoke {token_id}")
    with longhouse.connect(hosts.url("two"), token=token) as lh, pytest.raises(Unauthenticated):
        lh(GetStatus())
