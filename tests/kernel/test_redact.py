"""Redaction: no secret leaves, wherever it is; ordinary text and numbers stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.kernel.disguise import hides_in_json
from longhouse.kernel.redact import (
    _HARMLESS,
    HIDDEN,
    is_suspect,
    mask,
    open_from,
    redact,
    redact_fields,
    redact_text,
)
from longhouse.kernel.secret_shapes import SHAPES
from tests.kit import Lh

_A = "0123456789abcdefABCDEF0123456789abcdefABCDEF"
_JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
_PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB\nQUJD\n-----END RSA PRIVATE KEY-----"

EXAMPLES: dict[str, list[tuple[str, str]]] = {
    "longhouse": [("", "lh_" + "0f" * 32), ("", "lha_" + "0f" * 24)],
    "github": [("", f"gh{kind}_{_A[:36]}") for kind in "pousr"],
    "github fine-grained": [("", "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwx")],
    "gitlab": [("", f"glpat-{_A[:20]}"), ("", f"glrt-{_A[:20]}"), ("", f"gldt-ab_{_A[:20]}")],
    "gitlab runner": [("", f"GR1348941{_A[:20]}")],
    "slack": [("", "xoxb-123456789012-abcdefghijkl"), ("", "xoxe.xoxp-1-Mi0yLTEyMzQ1Njc4OTA")],
    "slack app": [("", "xapp-1-A0123456789-0123456789-abcdef")],
    "slack webhook": [("https://hooks.slack.com/services/", "T00000000/B00000000/XXXXXXXXXXXX")],
    "stripe": [("", f"{kind}_{_A[:24]}") for kind in ("sk_live", "sk_test", "rk_live")],
    "stripe webhook": [("", f"whsec_{_A[:32]}")],
    "google api key": [("", f"AIza{_A[:35]}")],
    "google oauth": [("", f"ya29.a0{_A}")],
    "google client secret": [("", f"GOCSPX-{_A[:28]}")],
    "google refresh token": [("", f"1//0g{_A}")],
    "aws key id": [
        ("", "AKIAABCDEFGHIJKLMNOP"),
        ("", "ASIAABCDEFGHIJKLMNOP"),
        ("", "AKIAABCDEFGHIJKLMNOP,wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ],
    "aws session token": [("", f"IQoJb3JpZ2luX2Vj{_A}"), ("", f"FwoGZXIvYXdzE{_A}")],
    "npm": [("", f"npm_{_A[:36]}")],
    "hugging face": [("", f"hf_{_A[:34]}")],
    "openai, anthropic": [
        ("", "sk-proj-abcdefghijklmnopqrstuvwx"),
        ("", f"sk-ant-api03-{_A}_-x"),
    ],
    "jwt": [("", _JWT)],
    "private key block": [
        ("", _PEM),
        ("", _PEM.replace("RSA", "OPENSSH")),
        ("", _PEM.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK")),
    ],
    "url password": [("postgres://alice:", "hunter2"), ("https://bot:", "p@ss:w0rd")],
    "url token": [("https://", "a1b2c3d4e5f6")],
    "authorization header": [
        ("Authorization: Basic ", "YTpi"),
        ('"authorization": "token ', "secretly"),
    ],
    "bearer": [("Bearer ", "abc12345"), ("bearer ", "abcdefghijklmnopqrstuvwxyz")],
    "basic": [("Basic ", "YWxhZGRpbjpvcGVuc2VzYW1l"), ("curl -H basic ", "dXNlcjpwYXNz==")],
    "name=secret": [
        ("password=", "hunter2hunter2"),
        ("https://x.example/?a=1&access_token=", "abcdef123456"),
        ("api_key=", "0123456789"),
        ("AWS_SECRET_ACCESS_KEY=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        ("DB_PASSWD = ", "correcthorse"),
        ("AccountKey=", "YWJjZA"),
        ("dbPassword=", "tr0ub4dor"),
    ],
    "name: 'a secret'": [
        ('password="', "correct horse battery"),
        ('{"client_secret": "', "abc"),
        ("api_key => '", "x1"),
        ('{\\"password\\": \\"', "hunter"),
    ],
    "name: secret": [
        ("password: ", "hunter2"),
        ("aws_secret_access_key: ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        ("auth_token: ", "a1b2c3"),
    ],
    "--name secret": [("mysql --password ", "hunter2"), ("gh --token ", "a1b2c3d4")],
}
AFTER = {
    "name: 'a secret'": "\"'",
    "url password": "@db.example/x",
    "url token": ":x-oauth-basic@github.com/a/b",
}
SECRETS = [secret for cases in EXAMPLES.values() for label, secret in cases if not label]
LABELLED = [
    (label, secret + AFTER.get(name, ""), secret)
    for name, cases in EXAMPLES.items()
    for label, secret in cases
    if label
]
KEYS = ["token", "apiKey", "api_key", "client_secret", "PASSWORD", "private_key", "Authorization"]

words = st.text("abc ,.:;(){}\n\"'", max_size=12)


def nested(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaf,
        lambda inner: (
            st.lists(inner, min_size=1, max_size=3)
            | st.dictionaries(st.sampled_from(["note", "meta", "a"]), inner, min_size=1, max_size=2)
        ),
        max_leaves=6,
    )


@given(
    nested(
        st.sampled_from(SECRETS).flatmap(
            lambda secret: st.tuples(words, words).map(lambda w: f"{w[0]} {secret} {w[1]}")
        )
    )
)
def test_no_secret_leaves_whatever_it_is_nested_in(value: Any) -> None:
    shown = msgspec.json.encode(redact(value)).decode()
    assert not any(secret in shown for secret in SECRETS)
    assert HIDDEN in shown


def test_every_shape_of_the_list_has_examples_and_its_own_pattern_takes_them() -> None:
    assert list(EXAMPLES) == [shape.name for shape in SHAPES]
    for shape in SHAPES:
        for label, secret in EXAMPLES[shape.name]:
            text = f"see {label}{secret}{AFTER.get(shape.name, '')} there"
            found = [
                hit["secret"] for at in range(len(text)) if (hit := shape.pattern.match(text, at))
            ]
            assert secret in found, shape.name
            begun = f"see {label}{secret[: len(secret) - 1]}"
            assert open_from(begun) <= len(f"see {label}"), shape.name


@pytest.mark.parametrize("label, text, secret", LABELLED)
def test_a_labelled_secret_keeps_its_label_only(label: str, text: str, secret: str) -> None:
    after = text.removeprefix(secret)
    for value in (f"{label}{text}", f"\n{label}{text} and more", f"({label}{text}\n"):
        assert is_suspect(value.encode())
        shown = redact({"note": [value]})["note"][0]
        assert secret not in shown
        assert f"{label}{HIDDEN}{after}" in shown


@pytest.mark.parametrize("before", ["", "\n", "\t", "\x01", '"', "=", "é", "("])
@pytest.mark.parametrize("secret", SECRETS)
def test_the_quick_look_never_misses_what_the_list_knows(before: str, secret: str) -> None:
    assert is_suspect(msgspec.json.encode([before + secret]))
    assert is_suspect((before + secret).encode())
    assert redact([before + secret]) == [before + HIDDEN]


def test_what_the_quick_look_takes_for_harmless_disguises_nothing() -> None:
    for harmless in _HARMLESS:
        for text in (harmless * 3, b"sk-" + harmless + b"ant", b"ghp_" + harmless + b"a" * 36):
            assert not hides_in_json(b'"' + text + b'"'), harmless


@pytest.mark.parametrize("prefix", ["g\u200bhp_", "g\x1b[31mhp_", "\uff47hp_"])
def test_a_disguised_secret_is_seen_among_harmless_characters(prefix: str) -> None:
    secret = f"{prefix}{'a1B2' * 9}"
    assert is_suspect(msgspec.json.encode(f'… \n "{secret}" — \\n'))
    assert redact([f'… "{secret}"']) != [f'… "{secret}"']


PATTERNED = ("github", "gitlab", "openai, anthropic", "url password", "url token")


@pytest.mark.parametrize(
    "literal, folded",
    [(word, s.folded) for s in SHAPES if s.name not in PATTERNED for word in s.literals],
)
def test_the_quick_look_knows_every_literal_of_the_list(literal: str, folded: bool) -> None:
    for word in (literal, literal.upper(), literal.title()) if folded else (literal,):
        assert is_suspect(f"so {word} it is".encode())


@pytest.mark.parametrize("secret", [s for s in SECRETS if "\n" not in s])
def test_a_token_that_a_preview_cut_short_is_hidden_all_the_same(secret: str) -> None:
    for length in range(len(secret) // 2, len(secret)):
        shown = redact({"title": f"use {secret[:length]}…"})["title"]
        assert shown.removesuffix("…") == f"use {HIDDEN}", length


@given(st.sampled_from(SECRETS), words, words)
def test_a_mask_hides_the_same_and_moves_nothing(secret: str, before: str, after: str) -> None:
    data = f"é{before} {secret} {after}é".encode()
    shown = mask(data)
    assert len(shown) == len(data)
    assert secret.encode() not in shown
    assert shown == f"é{before} {'*' * len(secret)} {after}é".encode()


@given(
    st.sampled_from([("", secret, secret) for secret in SECRETS] + LABELLED),
    st.sets(st.integers(0, 120), max_size=6),
)
def test_a_stream_that_holds_back_what_may_be_a_secret_shows_no_part_of_one(
    case: tuple[str, str, str], ends: set[int]
) -> None:
    """At most part of a token's prefix is shown, never a character after it."""
    label, rest, secret = case
    text = f"some words\n{label}{rest} and more words\n"
    first = text.index(label + rest) + len(label)
    shown = ""
    for end in [*sorted(end for end in ends if end < len(text)), len(text)]:
        stop = open_from(text[:end]) if end < len(text) else end
        shown += mask(text[:end].encode()).decode()[len(shown) : max(stop, len(shown))]
    assert len(shown) == len(text)
    leak = shown[first : first + len(secret)].rstrip("*")
    assert not (leak and label)
    assert not any(shape.begun.fullmatch(leak) for shape in SHAPES)


@pytest.mark.parametrize(
    "text", ["done", "a line\n", "see https://example.org/x", "password reset for 3 users", "task-"]
)
def test_a_stream_that_ends_in_ordinary_words_holds_nothing_back(text: str) -> None:
    assert open_from(text) == len(text)


@given(st.sampled_from(KEYS), nested(st.just("hunter2")), st.lists(st.just("hunter2"), max_size=2))
def test_text_under_a_key_that_names_a_secret_is_hidden(
    key: str, value: Any, many: list[str]
) -> None:
    hidden = {key: many, "outer": {key: "hunter2"}}
    assert "hunter2" not in str(redact(hidden))
    if "token" not in key:
        assert "hunter2" not in str(redact({key: value}))


def test_a_secret_used_as_a_key_is_hidden_too() -> None:
    assert SECRETS[0] not in str(redact({SECRETS[0]: 1}))


def test_a_private_key_block_is_hidden_even_when_it_was_cut() -> None:
    block = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB\n-----END RSA PRIVATE KEY----- after"
    assert redact_text(block) == f"{HIDDEN} after"
    assert redact_text("see -----BEGIN PRIVATE KEY-----\nMIIE") == f"see {HIDDEN}"


def test_numbers_and_flags_are_never_secrets() -> None:
    usage = {"input_tokens": 812, "token_count": 3.5, "secret": True, "password": None}
    assert redact(usage) == usage


@pytest.mark.parametrize(
    "text",
    [
        "TASK-001 is a task-oriented risk-free disk-bound thing with many-long-hyphen-words",
        "use my-sk-learn-pipeline-for-the-long-benchmark-run",
        "the bearer of bad news",
        "tokens: 12, token budget 5000, tokenizer",
        "max_tokens=4000 password: change it",
        "a passwordless login, no secrets here; secret sauce",
        "notes@12 JOB-001@45 a:core lane:shared",
        "commit 0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c",
        "sha256:" + "0f1e2d3c" * 8 + " artifact:0f1e2d3c4b5a",
        "id 123e4567-e89b-12d3-a456-426614174000 and 0b-12",
        "a basic understanding of bearer responsibilities; Basic Authentication explained",
        "see https://example.org:8080/path?x=1 and git@github.com:a/b.git",
        "PWD=/home/me/project OLDPWD=/tmp",
        "token=$TOKEN password=${DB_PASSWORD} secret=$(pass show x)",
        "the --token flag, --password-file and --token FILE",
        "authorization: required for every call",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "npm_config_registry hf_hub_download gh_pages eyJust AKIRA ghost_writer glad-hearted",
        "evt_0000000000000042 STEP-0A1B2C3D CONFLICT-0123456789abcdef0123456789abcdef",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert redact({"content": text}) == {"content": text}


def test_what_a_command_reveals_is_shown_and_nothing_else() -> None:
    value = {"token": SECRETS[-1], "other_token": SECRETS[-1], "note": SECRETS[0]}
    shown = redact(value, ["token"])
    assert shown == {"token": SECRETS[-1], "other_token": HIDDEN, "note": HIDDEN}


def test_a_page_of_tokens_is_not_itself_a_secret() -> None:
    page = {"tokens": [{"id": "TOK-1", "role": "viewer"}]}
    assert redact(page) == page


@pytest.mark.parametrize("secret", SECRETS[::6])
def test_answers_errors_and_lines_leave_without_secrets(lh: Lh, secret: str) -> None:
    lh("vcs.notes.commit", content=f"use {secret} here", meta={"api_key": "abc", "n": 1})
    calls: list[tuple[str, dict[str, Any]]] = [
        ("docs.show", {"doc_kind": "notes"}),
        ("open", {"id": "notes@1"}),
        ("open", {"id": secret}),
        (f"docs.{secret}", {}),
        ("docs.show", {secret: 1}),
        ("docs.show", {"branch": secret}),
        ("docs.show", {"doc_kind": secret}),
    ]
    for cmd, args in calls:
        for fmt in ("json", "lines"):
            body = lh.house.call(cmd, {**args, "fmt": fmt}).body().decode()
            assert secret not in body, (cmd, args)


def test_the_fields_of_a_log_line_become_plain_and_keep_no_secret() -> None:
    shown = redact_fields(
        {"path": Path("a"), "of": {1: ("b", Path("c")), "password": "hunter2hunter2"}, "none": None}
    )
    assert shown == {
        "path": "a",
        "of": {"1": ["b", "c"], "password": HIDDEN},
        "none": None,
    }
