"""Scopes: one normal form in every checkout, and how two of them overlap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.crew.errors import ScopeOutsideProject
from longhouse.crew.scopes import FileScope, ancestors, normalise, overlap, resolve
from longhouse.kernel.errors import InvalidInput

ROOT = "/home/team/acme"


def scope(text: str, root: str = ROOT, seen_from: str | None = None) -> FileScope:
    return normalise(text, root=root, seen_from=seen_from)


@pytest.mark.proves("OPS-027", "OPS-028", "OPS-030")
@pytest.mark.parametrize(
    "text",
    [
        "src/lib",
        "src/lib/",
        "src//lib",
        "./src/lib",
        "src/../src/lib",
        "src\\lib",
        " src/lib ",
        f"{ROOT}/src/lib",
        "/home/team/acme//src/./lib/",
    ],
)
def test_one_place_has_one_normal_form(text: str) -> None:
    assert scope(text) == FileScope(path="/src/lib", below=False)
    assert resolve(text.strip(), ROOT) == f"{ROOT}/src/lib"


@pytest.mark.proves("OPS-030")
def test_the_root_keeps_its_slash() -> None:
    assert scope("/") == scope(".") == scope(ROOT) == FileScope(path="/", below=False)
    assert resolve("/", "/") == "/"
    assert scope("src", root="/").path == "/src"


@pytest.mark.proves("OPS-032", "OPS-033", "OPS-034", "OPS-035", "OPS-036", "OPS-037")
@pytest.mark.parametrize(
    "a,b,expected",
    [
        ("src/*", "src/lib/parser.ts", "partial"),
        ("src/lib", "src/lib/parser.ts", "partial"),
        ("src/lib/parser.ts", "src/lib/parser.ts", "exact"),
        ("src/lib", "src/components", "disjoint"),
        ("src/lib/a.ts", "src/lib/b.ts", "disjoint"),
        ("src/lib", "src/library", "disjoint"),
        ("src/*", "src/*", "exact"),
        ("src/*", "src", "partial"),
        ("src/**", "src/*", "exact"),
        ("src/**", "src/a", "partial"),
        ("src/../src/lib", "src/lib", "exact"),
        ("src\\lib", "src/lib", "exact"),
        ("src/*/", "src/*", "exact"),
        ("/", "src", "partial"),
        ("*", "src/a", "partial"),
        (".", "src/a", "partial"),
        ("app/[id]/page.tsx", "app/[id]/page.tsx", "exact"),
        ("app/[id]/page.tsx", "app/i/page.tsx", "disjoint"),
    ],
)
def test_two_scopes_overlap_as_the_table_says(a: str, b: str, expected: str) -> None:
    assert overlap(scope(a), scope(b)) == overlap(scope(b), scope(a)) == expected


@pytest.mark.proves("OPS-029")
def test_case_counts_except_on_windows() -> None:
    assert overlap(scope("SRC/lib"), scope("src/lib")) == "disjoint"
    for root in (r"C:\Team\Acme", r"\\server\Team\Acme"):
        a, b = scope(r"SRC\lib", root), scope("src/LIB/", root)
        assert overlap(a, b) == "exact"
        assert a.path == "/src/lib"
    assert scope(r"c:\team\acme\src", r"C:\Team\Acme").path == "/src"


def test_a_file_is_one_scope_in_every_worktree() -> None:
    tree = "/tmp/trees/parser"
    assert scope("src/a.py", seen_from=tree) == scope("src/a.py")
    assert scope(f"{tree}/src/a.py", seen_from=tree) == scope(f"{ROOT}/src/a.py", seen_from=tree)
    assert scope("/", seen_from=tree) == scope("/")


@pytest.mark.parametrize(
    "text", ["../other", "/etc/passwd", "src/../../other", "C:\\Windows", "/home/team/acme2/x"]
)
def test_what_lies_outside_the_project_is_refused(text: str) -> None:
    with pytest.raises(ScopeOutsideProject) as refused:
        scope(text)
    assert "outside the project" in refused.value.message
    assert refused.value.code == "SCOPE_OUTSIDE_PROJECT"


@pytest.mark.parametrize("text", [" ", "a\nb", "a\x00b", "\x1b[31m", "a\x7f"])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        scope(text)


def test_a_scope_is_shown_as_one_writes_it_and_read_back_as_the_same() -> None:
    for text in ("src/*", "src/lib", "/", "/*", "a b/c"):
        assert scope(str(scope(text))) == scope(text)
        assert str(scope(text)) == text


part = st.text("ab./*\\é", min_size=1, max_size=12)


@given(part, part)
def test_overlap_is_symmetric_and_agrees_with_the_folders_above(a: str, b: str) -> None:
    try:
        one, other = scope(a), scope(b)
    except InvalidInput:
        return
    assert overlap(one, other) == overlap(other, one)
    related = one.path in ancestors(other.path) or other.path in ancestors(one.path)
    assert (overlap(one, other) != "disjoint") == related
    assert (overlap(one, other) == "exact") == (one == other)
    assert scope(str(one)) == one
