"""Artifacts sent in parts: stored whole and correct, or not at all."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest

from longhouse.store.artifacts import artifacts_of
from tests.kit import Lh


def added(lh: Lh, data: bytes, **more: Any) -> str:
    made = lh("docs.artifact.add", name="part", content_b64=base64.b64encode(data).decode(), **more)
    digest: str = made["artifact"]["digest"]
    return digest


def whole(lh: Lh, digest: str) -> bytes:
    keeper = artifacts_of(lh.house)
    return keeper.blobs.get(digest, 0, 10**9)


def test_parts_are_joined_in_their_order_and_expire_without_the_whole(lh: Lh) -> None:
    chunks = [bytes([n]) * 900_000 for n in (1, 2, 1)]
    parts = [added(lh, chunk, expires_in_s=60) for chunk in chunks]
    digest = hashlib.sha256(b"".join(chunks)).hexdigest()
    made = lh(
        "docs.artifact.join",
        name="all.log",
        parts=parts,
        digest=digest,
        owner="JOB-001",
        media_type="text/plain",
        expires_in_s=600,
    )
    assert (made["created"], made["artifact"]["digest"]) == (True, digest)
    assert (made["artifact"]["size"], made["artifact"]["media_type"]) == (2_700_000, "text/plain")
    assert whole(lh, digest) == b"".join(chunks)
    again = lh("docs.artifact.join", name="all.log", parts=parts, digest=digest, owner="JOB-001")
    assert again["created"] is False
    assert [a["name"] for a in lh("docs.artifact.list", owner="JOB-001")["artifacts"]] == [
        "all.log"
    ]


def test_what_has_another_digest_is_refused_and_not_recorded(lh: Lh) -> None:
    one, two = added(lh, b"one"), added(lh, b"two")
    digest = hashlib.sha256(b"onetwo").hexdigest()
    for parts in ([two, one], [one], [one, two, two]):
        error = lh.refused("docs.artifact.join", name="x", parts=parts, digest=digest)
        assert error["code"] == "CONFLICT"
        assert digest in error["message"]
    assert lh("docs.artifact.list")["count"] == 2
    assert lh("docs.artifact.join", name="x", parts=[one, two], digest=digest)["created"]


@pytest.mark.parametrize(
    "wrong, code",
    [
        ({"parts": []}, "INVALID_INPUT"),
        ({"parts": ["0" * 64]}, "UNKNOWN_ID"),
        ({"parts": ["no such"]}, "UNKNOWN_ID"),
        ({"digest": "abc"}, "INVALID_INPUT"),
        ({"digest": "A" * 64}, "INVALID_INPUT"),
    ],
)
def test_a_wrong_join_is_refused(lh: Lh, wrong: dict[str, Any], code: str) -> None:
    good = {"name": "x", "parts": [added(lh, b"one")], "digest": "0" * 64}
    assert lh.refused("docs.artifact.join", **{**good, **wrong})["code"] == code


def test_more_than_may_be_joined_is_refused_before_a_byte_is_copied(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.store.artifacts.joining.MOST_BYTES", 5)
    one = added(lh, b"one")
    error = lh.refused("docs.artifact.join", name="x", parts=[one, one], digest="0" * 64)
    assert "parts: 6 bytes in total, at most 5 allowed" in error["message"]


def test_a_log_that_grows_or_was_cut_is_no_part(lh: Lh) -> None:
    from tests.store.test_artifacts import grow, writing

    keeper = artifacts_of(lh.house)
    begun = writing(lh, lambda tx: keeper.begin(tx, name="stdout"))
    cut = grow(lh, [b"y" * 300_000], cap=1000)
    for part in (begun.handle, cut.handle):
        error = lh.refused("docs.artifact.join", name="x", parts=[part], digest="0" * 64)
        assert "is an incomplete log" in error["message"]


def test_the_whole_counts_towards_the_quota(lh: Lh) -> None:
    one = added(lh, b"x" * 1_000)
    artifacts_of(lh.house).quota_bytes = 2_500
    digest = hashlib.sha256(b"x" * 2_000).hexdigest()
    error = lh.refused("docs.artifact.join", name="x", parts=[one, one], digest=digest)
    assert error["code"] == "QUOTA_EXCEEDED"


def test_bytes_without_a_type_of_their_own_are_joined_as_anything(lh: Lh) -> None:
    parts, digest = (
        [added(lh, b"\0one"), added(lh, b"two")],
        hashlib.sha256(b"\0onetwo").hexdigest(),
    )
    for media_type in ("application/zip", "text/plain"):
        name = {"name": media_type, "media_type": media_type}
        made = lh("docs.artifact.join", **name, parts=parts, digest=digest)["artifact"]
        assert made["media_type"] == media_type


def test_texts_are_joined_as_text(lh: Lh) -> None:
    lh("docs.artifact.add", name="one", content="one")
    asked = {"name": "x", "parts": ["ART-001"], "digest": hashlib.sha256(b"one").hexdigest()}
    error = lh.refused("docs.artifact.join", **asked)
    assert error["message"].endswith("fix: media_type=text/plain")
    assert not lh("docs.artifact.join", **asked | {"name": "one", "media_type": "text/plain"})[
        "created"
    ]
    assert lh("docs.artifact.join", **asked, media_type="text/markdown")["created"]


@pytest.mark.parametrize("size", [1, 54, 55, 56, 63, 64, 120])
def test_a_part_that_begins_with_the_padding_of_those_before_it_is_refused(
    lh: Lh, size: int
) -> None:
    first = b"x" * size
    zeros = bytes(-(size + 9) % 64)
    padding = b"\x80" + zeros + (size * 8).to_bytes(8, "big")
    assert (size + len(padding)) % 64 == 0, "as SHA-256 pads it"
    for second, refused in ((padding + b"more", True), (padding[:-1] + b"\xff", False)):
        parts = [added(lh, first), added(lh, second)]
        digest = hashlib.sha256(first + second).hexdigest()
        asked = {"name": "x", "parts": parts, "digest": digest}
        answer = lh.envelope("docs.artifact.join", **asked)
        assert answer["success"] is not refused
        assert not refused or "SHA-256 padding" in answer["error"]["message"]
