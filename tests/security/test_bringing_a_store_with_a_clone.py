"""The attacker wants a store that a clone brings along to be used: jobs, tokens and settings."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.config import OldStore, UntrustedStore, load
from longhouse.config.git_index import tracked_path
from longhouse.kernel.errors import InvalidInput
from tests.security.clone import GIT, REQUESTS, Clone, git

DOORS = (
    ("status",),
    ("note", "hello"),
    ("up", "--port", "0"),
    ("serve", "--port", "0"),
    ("init",),
    ("mcp", "--embedded"),
    ("runner", "--once", "--dry-run"),
    ("verify",),
    ("backup", "taken"),
)
PLANTED = {".longhouse/longhouse.db": "hostile", ".longhouse/token": "known"}


def test_every_door_refuses_a_tracked_store_by_name_and_says_the_way_out(tmp_path: Path) -> None:
    clone = Clone(tmp_path, PLANTED)
    for words in DOORS:
        error = clone.run(*words, "--json").error
        assert error["code"] == "UNTRUSTED_STORE", words
        assert ".longhouse/" in error["message"]
    bridge = clone.run("mcp", stdin=REQUESTS)
    assert "git tracks" in bridge.out
    assert {path.name for path in clone.dir.iterdir()} == {"longhouse.db", "token"}
    assert not clone.store.exists()
    _, _, command = error["recovery"].partition(": ")
    subprocess.run(command.partition(";")[0], shell=True, check=True, cwd=tmp_path)
    assert clone.run("init").code == 0
    assert clone.run("status", "--json").code == 0


def test_a_store_elsewhere_is_the_other_way_out(tmp_path: Path) -> None:
    clone = Clone(tmp_path, PLANTED)
    assert clone.run("status", "--dir", str(tmp_path / "mine")).code == 0


def test_git_need_not_be_installed_to_notice(tmp_path: Path) -> None:
    clone = Clone(tmp_path, PLANTED)
    assert clone.run("status", "--json", PATH="/nowhere").error["code"] == "UNTRUSTED_STORE"


def refused(root: Path) -> None:
    """Neither the folder nor anything that it holds is used."""
    home = root.parent / "home"
    settings = load({}, environ={"HOME": str(home)}, cwd=root)
    assert not settings.dir.is_relative_to(root)
    with pytest.raises(UntrustedStore, match="git tracks"):
        settings.make_dir()


@pytest.mark.parametrize(
    "prepare",
    [
        ["update-index", "--index-version", "3"],
        ["update-index", "--index-version", "4"],
        ["update-index", "--split-index"],
        ["update-index", "--skip-worktree", ".longhouse/token"],
    ],
)
def test_no_kind_of_index_hides_it(tmp_path: Path, prepare: list[str]) -> None:
    before = {f".a/{number:03}": "x" for number in range(300)}
    clone = Clone(tmp_path, {**before, ".longhouse-not": "", **PLANTED, "z": ""})
    git(clone.root, *prepare)
    refused(clone.root)


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
@pytest.mark.parametrize("version", ["2", "4"])
@pytest.mark.parametrize("folder", [".longhouse", ".LongHouse"])
def test_no_size_of_digest_and_no_spelling_hides_it(
    tmp_path: Path, object_format: str, version: str, folder: str
) -> None:
    root = tmp_path / "acme"
    subprocess.run([GIT, "init", "-q", f"--object-format={object_format}", str(root)], check=True)
    (root / folder).mkdir(mode=0o700)
    (root / folder / "token").write_text("known")
    (root / "a").write_text("")
    git(root, "add", "--all")
    git(root, "update-index", "--index-version", version)
    (root / ".longhouse").mkdir(
        mode=0o700, exist_ok=True
    )  # as a file system that folds case has it
    (root / ".longhouse" / "token").write_text("known")
    refused(root)


def ground(first: str) -> bytes:
    """A blob whose SHA-256 makes its index entry read as another one, with SHA-1, and end there.

    Read with digests of 20 bytes, bytes 20 and 21 of the digest are the flags: a name of ten
    bytes, which the remaining ten bytes of the digest then are, without a NUL among them and
    sorted behind the store's folder.
    """
    for number in range(1 << 20):
        content = f"{first}{number}".encode()
        digest = hashlib.sha256(b"blob %d\0%s" % (len(content), content)).digest()
        flags = int.from_bytes(digest[20:22], "big")
        if flags == 10 and b"\0" not in digest[22:] and digest[22:] > b".longhouse/":
            return content
    raise AssertionError("no digest was found")


@pytest.mark.parametrize("name", ["!", "!a", "-"])
def test_a_digest_ground_to_hide_it_hides_nothing(tmp_path: Path, name: str) -> None:
    root = tmp_path / "acme"
    subprocess.run([GIT, "init", "-q", "--object-format=sha256", str(root)], check=True)
    (root / ".longhouse").mkdir(mode=0o700)
    (root / ".longhouse" / "token").write_text("known")
    (root / name).write_bytes(ground(name))
    git(root, "add", "--all")
    refused(root)


@given(data=st.data(), digest_bytes=st.sampled_from([20, 32]), version=st.sampled_from([2, 3, 4]))
def test_no_index_hides_a_tracked_store_whatever_its_digests(
    data: st.DataObject, digest_bytes: int, version: int
) -> None:
    """Whatever the paths and the digests between them, what is listed is found."""
    names = data.draw(st.lists(st.text("!-./abl\x7f", min_size=1, max_size=20)))
    digests = st.binary(min_size=digest_bytes, max_size=digest_bytes)
    listed = sorted({os.fsencode(name) for name in (*names, ".longhouse/token")})
    entries, last = b"", b""
    for name in listed:
        start = len(entries)
        entries += bytes(40) + data.draw(digests) + min(len(name), 0xFFF).to_bytes(2, "big")
        if version == 4:
            alike = itertools.takewhile(
                lambda pair: pair[0] == pair[1], zip(name, last, strict=False)
            )
            kept = name[: sum(1 for _ in alike)]
            entries += bytes([len(last) - len(kept)]) + name[len(kept) :] + b"\0"
        else:
            length = (len(entries) - start + len(name)) // 8 * 8 + 8
            entries += name + bytes(length - (len(entries) - start) - len(name))
        last = name
    head = b"DIRC" + version.to_bytes(4, "big") + len(listed).to_bytes(4, "big")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "index").write_bytes(head + entries)
        assert tracked_path(Path(folder), ".longhouse") is not None


@given(text=st.binary(max_size=400))
def test_bytes_that_are_no_index_are_read_without_an_accident(text: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for head in (b"", b"DIRC\0\0\0\2\0\0\0\7", b"DIRC\0\0\0\4\xff\xff\xff\xff"):
            Path(folder, "index").write_bytes(head + text)
            tracked_path(Path(folder), ".longhouse")


def test_a_neighbour_with_a_similar_name_is_no_store(tmp_path: Path) -> None:
    names = (".longhouse-notes/x", ".longhous", ".longhouse.toml")
    clone = Clone(tmp_path, dict.fromkeys(names, ""))
    clone.dir.mkdir(mode=0o700)
    (clone.dir / "token").write_text("mine")
    with pytest.raises(OldStore, match="not been adopted"):
        load({}, environ={"HOME": str(clone.home)}, cwd=clone.root).make_dir()


def test_a_submodule_is_no_store(tmp_path: Path) -> None:
    inner = Clone(tmp_path / "inner", {"token": "known"})
    clone = Clone(tmp_path, {"a": ""})
    allow = ["-c", "protocol.file.allow=always"]
    git(clone.root, *allow, "submodule", "add", "-q", str(inner.root), ".longhouse")
    assert clone.run("up", "--json").error["code"] == "UNTRUSTED_STORE"
    (clone.dir / ".git").unlink()
    assert clone.run("up", "--json").error["code"] == "UNTRUSTED_STORE"


def test_what_is_pulled_beside_a_store_of_ones_own_is_not_looked_at(tmp_path: Path) -> None:
    clone = Clone(tmp_path, {"a": ""})
    assert clone.run("init").code == 0
    before = clone.store
    origin = tmp_path / "origin" / "acme"
    for name, text in PLANTED.items():
        (origin / name).parent.mkdir(exist_ok=True)
        (origin / name).write_text(text)
    git(origin, "add", "--all", "--force")
    git(origin, "commit", "-q", "-m", "A gift")
    git(clone.root, "pull", "-q")
    assert clone.run("status", "--json").code == 0
    assert clone.store == before


def test_a_link_in_the_place_of_the_folder_leads_nowhere(tmp_path: Path) -> None:
    target = tmp_path / "victim"
    target.mkdir(mode=0o700)
    (target / "token").write_text("precious")
    clone = Clone(tmp_path, {"a": ""}, links={".longhouse": str(target)})
    error = clone.run("init", "--json").error
    assert error["code"] == "UNTRUSTED_STORE"
    assert [path.name for path in target.iterdir()] == ["token"]


@pytest.mark.parametrize("name", ["server.out", "server.log", "longhouse.db", "agents"])
def test_a_link_inside_an_unpacked_folder_is_not_written_through(tmp_path: Path, name: str) -> None:
    """An archive that was unpacked: git knows nothing of it."""
    clone, victim = Clone(tmp_path, {"a": ""}), tmp_path / "victim"
    victim.write_text("precious")
    clone.dir.mkdir(mode=0o700)
    (clone.dir / "token").write_text("known")
    (clone.dir / name).symlink_to(victim)
    error = clone.run("up", "--port", "0", "--json").error
    assert (error["code"], name in error["message"]) == ("UNTRUSTED_STORE", True)
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o720])
def test_a_folder_that_others_can_change_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store").chmod(mode)
    with pytest.raises(UntrustedStore, match="other users") as caught:
        load({"dir": "store"}, environ={}, cwd=tmp_path)
    assert "chmod 700" in str(caught.value.recovery)


def test_a_folder_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store").mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(UntrustedStore, match="another user"):
        load({"dir": "store"}, environ={}, cwd=tmp_path)


FORBIDDEN = [
    ('db = "postgresql://evil.example/x"', "db"),
    ('host = "0.0.0.0"', "host"),
    ("port = 80", "port"),
    ('allowed_hosts = ["evil.example"]', "allowed_hosts"),
    ('token = "known-to-the-attacker"', "token"),
    ('token_file = "/etc/passwd"', "token_file"),
    ('artifacts = "/etc"', "artifacts"),
    ('policy = "full-auto"', "policy"),
    ("otel = true", "otel"),
    ('agent_id = "ada"', "agent_id"),
    ('dir = "/tmp/elsewhere"', "dir"),
    ('[runner]\nurl = "http://evil.example"', "runner.url"),
    ('[runner]\nroot = "/"', "runner.root"),
    ('[runner]\ncodex_bin = "./codex"', "runner.codex_bin"),
    ('[runner]\nclaude_bin = "./claude"', "runner.claude_bin"),
    ('[runner]\nsandbox = "full"', "runner.sandbox"),
    ('[runner]\nisolation = "none"', "runner.isolation"),
    ('[stores."x"]\ndb = "y"', "stores"),
    ("whatever = 1", "whatever"),
]


@pytest.mark.parametrize("line, name", FORBIDDEN)
@pytest.mark.parametrize("where", ["tree", "store"])
def test_neither_the_trees_file_nor_the_stores_can_set_what_is_the_persons(
    tmp_path: Path, line: str, name: str, where: str
) -> None:
    (tmp_path / ".git").mkdir()
    environ = {"HOME": str(tmp_path.parent / f"{tmp_path.name}-home")}
    folder = tmp_path / ".longhouse"
    if where == "store":
        folder = load({}, environ=environ, cwd=tmp_path).dir
    folder.mkdir(parents=True, mode=0o700)
    (folder / "config.toml").write_text(line)
    with pytest.raises(InvalidInput) as caught:
        load({}, environ=environ, cwd=tmp_path)
    assert f"may not set {name}:" in caught.value.message
    assert f"{environ['HOME']}/.config/longhouse/config.toml" in str(caught.value.recovery)


def test_doctor_says_where_each_setting_came_from(tmp_path: Path) -> None:
    clone = Clone(tmp_path, {"a": ""})
    clone.dir.mkdir(mode=0o700)
    (clone.dir / "config.toml").write_text("jobs_max_running = 3\n")
    clone.write_user_file(f'[stores."{clone.root}"]\nallowed_hosts = ["a.example"]\n')
    said = clone.run("doctor", "--toolset", "core", LONGHOUSE_TOKEN="do-not-show-this-one").out
    for expected in (
        f"jobs_max_running = 3, from {clone.dir / 'config.toml'}",
        f'allowed_hosts = a.example, from {clone.user_file} [stores."{clone.root}"]',
        "toolset = core, from --toolset",
        "token = ***, from LONGHOUSE_TOKEN",
    ):
        assert expected in said
    assert "do-not-show-this-one" not in said
