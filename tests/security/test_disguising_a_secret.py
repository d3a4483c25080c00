"""A viewer wants a secret that something keeps a search from finding, but not a reader."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest

from longhouse.kernel.redact import is_suspect, mask, redact, redact_text
from longhouse.kernel.registry import Role
from longhouse.kernel.secret_shapes import open_from, own_tokens, shut_until
from tests.kit import Lh
from tests.processes.kit import Runner, ended, stored
from tests.security.kit import Outsider

OURS = "lh_" + "0123456789abcdef" * 4
HEADER = b'{"version": 3, "term": {"cols": 80, "rows": 24}}\n'
THEIRS = "ghp_" + "a1B2c3D4e5" * 4

DISGUISES: dict[str, Any] = {
    "grep --color": lambda t: f"\x1b[01;31m\x1b[K{t[:3]}\x1b[m\x1b[K{t[3:]}",
    "a color before it": lambda t: f"x\x1b[31m{t}",
    "colors around each letter": lambda t: "".join(f"\x1b[3{n % 8}m{c}" for n, c in enumerate(t)),
    "a title inside": lambda t: f"{t[:9]}\x1b]0;some title\x07{t[9:]}",
    "a link inside": lambda t: f"{t[:9]}\x1b]8;;http://x\x1b\\{t[9:]}",
    "an 8-bit control": lambda t: f"{t[:9]}\x9b31m{t[9:]}",
    "overstruck": lambda t: "".join(f"{c}\b{c}" for c in t),
    "zero width": "\u200b".join,
    "soft hyphens": "\u00ad".join,
    "a byte order mark": lambda t: f"{t[:5]}\ufeff{t[5:]}",
    "underlined": lambda t: "".join(f"{c}\u0332" for c in t),
    "tags": "\U000e0041".join,
    "full width": lambda t: "".join(chr(ord(c) + 0xFEE0) for c in t),
    "bold letters": lambda t: "".join(
        chr(0x1D5EE + ord(c) - ord("a")) if "a" <= c <= "z" else c for c in t
    ),
    "NUL": "\0".join,
    "two at once": lambda t: "".join(f"\x1b[1m{chr(ord(c) + 0xFEE0)}\u200d" for c in t),
    "a title by 8-bit controls": lambda t: f"{t[:9]}\x9d0;some title\x9c{t[9:]}",
    "a title ended by one": lambda t: f"{t[:9]}\x1b]0;titre \u0153\x9c{t[9:]}",
    "a device control string": lambda t: f"{t[:9]}\x90q#0\x9c{t[9:]}",
    "8-bit controls": "\x84\x85".join,
    "a bell inside a color": lambda t: f"{t[:9]}\x1b[3\x071m{t[9:]}",
    "a canceled color": lambda t: f"{t[:9]}\x1b[31\x18{t[9:]}",
    "an interrupted color": lambda t: f"{t[:9]}\x1b[31\x1b[32m{t[9:]}",
    "marks of other scripts": "\u0483\u0591\u064b\u3099".join,
    "escapes as JSON has them": lambda t: f"{t[:9]}\\u001b[1;31m{t[9:]}",
    "JSON inside JSON": lambda t: (
        f"{t[:2]}\\\\u005F{t[3:9]}\\\\u001B[m{t[9:]}" if t[2] == "_" else f"{t[:9]}\\\\u200b{t[9:]}"
    ),
    "escapes of a shell": lambda t: f"{t[:9]}\\e[31m{t[9:12]}\\033[0m{t[12:20]}\\x1b[0m{t[20:]}",
}

OVERPRINTED: dict[str, Any] = {
    "typed, corrected": lambda t: f"see {t[:9]}zz\b\b{t[9:]} there",
    "blanks taken back": lambda t: f"see {t[:9]}   \b\b\b{t[9:]} there",
    "moved back": lambda t: f"see {t[:9]}  \x1b[2D{t[9:]} there",
    "moved on after a return": lambda t: f"see {t[:9]}\r\x1b[13C{t[9:]} there",
    "the end first": lambda t: f"    {' ' * 9}{t[9:]} there\rsee {t[:9]}",
    "to a column": lambda t: f"see {t[:9]}{' ' * 9}\x1b[14G{t[9:]} there",
    "wrapped by a prompt": lambda t: f"see {t[:9]} \r{t[9:]} there",
    "after a progress bar": lambda t: f"50 % [#####     ]\rsee {t[:9]}-\b{t[9:]} there",
}
"""What a terminal shows as `see SECRET there`, by writing over what it wrote."""


@pytest.mark.parametrize("how", DISGUISES)
@pytest.mark.parametrize("secret", [OURS, THEIRS])
def test_a_disguised_secret_is_hidden_in_text_and_in_bytes(secret: str, how: str) -> None:
    text = f"see {DISGUISES[how](secret)} there"
    shown = redact_text(text)
    assert shown.startswith("see ")
    assert shown.endswith(" there")
    assert "<redacted>" in shown
    for piece in (secret[8:12], DISGUISES["full width"](secret[8:12])):
        assert piece not in shown
    starred = mask(text.encode())
    assert len(starred) == len(text.encode()), "offsets stay the same"
    left = starred.decode(errors="replace")
    assert left.startswith("see ")
    assert left.endswith(" there")
    assert not set(left[5:-6]) & set("89cdD4"), left
    assert is_suspect(json.dumps(text, ensure_ascii=False).encode())
    assert is_suspect(text.encode())
    assert redact({"text": text}) == {"text": shown}


@pytest.mark.parametrize("how", OVERPRINTED)
@pytest.mark.parametrize("secret", [OURS, THEIRS])
def test_a_secret_that_is_only_seen_on_a_screen_is_hidden(lh: Lh, secret: str, how: str) -> None:
    line = OVERPRINTED[how](secret)
    text = f"first line\n{line}\nlast line"
    shown = redact_text(text)
    assert secret[12:40] not in shown
    assert (shown.startswith("first line\n"), shown.endswith("\nlast line")) == (True, True)
    starred = mask(text.encode())
    assert len(starred) == len(text.encode())
    assert secret[12:40].encode() not in starred
    assert OURS not in text or secret in set(own_tokens(text))
    assert redact({"text": text}) == {"text": shown}
    ref = stored(lh, f"{'x' * 70_000}\n{text}\n".encode())
    page = Outsider(lh, "TOK-v", Role.VIEWER)("docs.artifact.show", id=ref, offset=70_000)
    assert secret[12:40] not in str(page)


def test_what_is_written_over_for_no_secret_stays() -> None:
    bar = "\r".join(f"{n:3} % [{'#' * n}]" for n in range(0, 100, 9))
    for text in (bar, "a\bb", f"{bar}\r\n", "x\x1b[3Gy", "tab\t\rback", "C:\\users\\x1bit"):
        assert redact_text(text) == text
        assert mask(text.encode()) == text.encode()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-32"])
@pytest.mark.parametrize("how", [None, "grep --color"])
def test_wide_encodings_are_searched_too(encoding: str, how: str | None) -> None:
    token = DISGUISES[how](OURS) if how else OURS
    data = f"see {token} there".encode(encoding)
    starred = mask(data)
    assert len(starred) == len(data)
    assert "89abcdef" not in starred.replace(b"\0", b"").decode("latin-1")
    assert OURS in set(own_tokens(data.decode("latin-1")))


@pytest.mark.parametrize("how", DISGUISES)
def test_a_live_token_is_recognized_whatever_it_wears(how: str) -> None:
    data = f"see {DISGUISES[how](OURS)} there".encode()
    assert OURS in set(own_tokens(data.decode("latin-1")))


@pytest.mark.parametrize("how", DISGUISES)
def test_a_stream_holds_back_a_disguised_secret_wherever_it_is_cut(how: str) -> None:
    data = DISGUISES[how](OURS).encode()
    begins = max(0, data.find(b"l"))
    for cut in range(len(data) // 3, len(data)):
        held = open_from(b"ok ".decode() + data[:cut].decode("latin-1"))
        assert held <= max(3 + begins, 3 + 12), (cut, held)


def test_the_rest_of_a_disguised_secret_is_shut() -> None:
    rest = "abc\x1b]0;a title with spaces\x07def rest"
    assert shut_until(rest) == rest.index(" rest")


def test_ordinary_text_in_many_scripts_is_no_suspect_and_stays() -> None:
    for text in (
        "plain words",
        "Grüße, naïve café",
        "日本語のテキスト",
        "\u201cquoted\u201d \u2013 and\u2026",
        "\u0442\u0435\u0441\u0442",
    ):
        assert not is_suspect(json.dumps(text, ensure_ascii=False).encode())
        assert redact_text(text) == text
    for text in ("\x1b[31mred\x1b[0m", DISGUISES["full width"]("words"), "a\u200bb"):
        assert redact_text(text) == text
        assert mask(text.encode()) == text.encode()


def test_a_viewer_does_not_read_a_token_from_colored_output(lh: Lh) -> None:
    token = lh("system.token.create", role="operator")["token"]
    line = DISGUISES["grep --color"](token)
    ref = stored(lh, f"found {line}\n".encode())
    viewer = Outsider(lh, "TOK-v", Role.VIEWER)
    assert token[3:20] not in str(viewer("docs.artifact.show", id=ref))
    lh("vcs.notes.commit", content=f"found {line}")
    assert token[3:20] not in str(viewer("docs.show", doc="notes"))
    assert viewer("docs.search", text=token[3:20])["hits"] == []


def test_bytes_with_a_disguised_live_token_are_withheld(lh: Lh) -> None:
    token = lh("system.token.create", role="operator")["token"]
    agent = Outsider(lh, "TOK-a")
    for data in (token.encode("utf-16"), DISGUISES["grep --color"](token).encode()):
        ref = stored(lh, b"\x80\xff\0" + data)
        error = agent.refused("docs.artifact.show", id=ref)
        assert error["code"] == "FORBIDDEN"
        assert "contains a Longhouse token" in error["message"]


def test_whoever_imports_a_recording_did_not_start_the_program(lh: Lh) -> None:
    cast = HEADER + f'[0.1, "o", "key {THEIRS}"]\n'.encode()
    agent = Outsider(lh, "TOK-a")
    task = agent("tool.recording_import", artifact=stored(lh, cast))["task"]["task_id"]
    assert THEIRS not in str(agent("tool.output_fetch", task_id=task))
    assert agent.refused("tool.output_raw", task_id=task)["code"] == "FORBIDDEN"
    raw = lh("tool.output_raw", task_id=task)
    assert THEIRS.encode() in base64.b64decode(raw["data_b64"])


@pytest.mark.parametrize("field", ["artifact", "stored_sha256"])
def test_a_seal_that_names_somebody_elses_artifact_gives_no_bytes(lh: Lh, field: str) -> None:
    secret = f"key {THEIRS}\n".encode()
    stored(lh, secret)
    digest = hashlib.sha256(secret).hexdigest()
    runner = Runner(lh)
    task = runner.start()
    seal = {"bytes_total": len(secret), "bytes_stored": len(secret), field: digest}
    runner.append(task, {"type": "tool_stdout", "offset_bytes": 0, "bytes": len(secret)})
    runner.append(task, ended(logs={"stdout": seal}))
    starter = Outsider(lh, "operator")  # the task's own starter, but no manager
    error = starter.refused("tool.output_raw", task_id=task)
    assert error["code"] == "FORBIDDEN"
    assert "did not send these bytes" in error["message"]
    assert THEIRS not in str(starter("tool.output_fetch", task_id=task))
