"""Redaction: no secret leaves, whatever it stands in; ordinary text and numbers stay."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.kernel.redact import HIDDEN, redact, redact_text
from tests.kit import Lh

SECRETS = [
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwx",
    "sk-proj-abcdefghijklmnopqrstuvwx",
    "xoxb-123456789012-abcdefghijkl",
    "AKIAABCDEFGHIJKLMNOP",
    "lh_" + "0f" * 32,
]
LABELLED = [
    ("Authorization: Bearer ", "eyJhbGciOiJIUzI1NiJ9.e30.abc"),
    ("https://x.example/?a=1&access_token=", "abcdef123456"),
    ("password=", "hunter2hunter2"),
    ("api_key=", "0123456789"),
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


@given(nested(st.sampled_from(LABELLED).map("".join)))
def test_a_labelled_secret_keeps_its_label_only(value: Any) -> None:
    shown = msgspec.json.encode(redact(value)).decode()
    assert not any(secret in shown for _, secret in LABELLED)


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


@pytest.mark.parametrize("secret", SECRETS)
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
