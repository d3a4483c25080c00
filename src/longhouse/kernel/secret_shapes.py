"""The one list of the shapes of secrets, and the search for them in a text.

Every shape has literals, one of which it must contain; its pattern is tried only where one occurs.
The search resumes after each match, and no shape can begin inside a run of its own characters, so
the time is linear in the length of the text. Only ASCII counts as letters, digits and spaces, so
bytes decoded as Latin-1 give the same spans, as byte offsets. A disguised text (`disguise.py`) is
searched as a reader sees it, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from longhouse.kernel.effort import spend

if TYPE_CHECKING:
    from longhouse.kernel.disguise import Unmasked
    from longhouse.kernel.overprint import Painted

__all__ = [
    "LONGEST",
    "SHAPES",
    "Shape",
    "Span",
    "open_from",
    "own_tokens",
    "secret_spans",
    "shut_until",
]

LONGEST = 32 * 1024
"""The longest secret, label included: a window needs this much context on both sides."""

Span = tuple[int, int]

_MOST = LONGEST - 1024
_CUT = "\N{HORIZONTAL ELLIPSIS}"
_ALNUM = "A-Za-z0-9"
_WORD = "A-Za-z0-9_-"
_BASE64 = "A-Za-z0-9+/"


class Shape:
    """One kind of secret: a label, which stays visible, and the secret after it.

    Its patterns are compiled when one of its literals first occurs; in most processes none does.
    """

    def __init__(
        self,
        name: str,
        literals: Iterable[str],
        label: str,
        secret: str,
        begun: str,
        *,
        folded: bool = False,
    ) -> None:
        self.name = name
        self.literals = tuple(literals)
        self.folded = folded
        """Whether matching ignores case; the literals are then in lower case."""
        self._label, self._secret, self._begun = label, secret, begun

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return self._compiled(rf"{self._label}(?P<secret>{self._secret})")

    @cached_property
    def begun(self) -> re.Pattern[str]:
        """The same at any length; a match that reaches the end of a text may be cut off."""
        return self._compiled(rf"{self._label}{self._begun}")

    def _compiled(self, pattern: str) -> re.Pattern[str]:
        return re.compile(pattern, re.ASCII | (re.IGNORECASE if self.folded else 0))


def _token(name: str, start: str, chars: str, least: int, *literals: str) -> Shape:
    """A token recognized by its prefix: `start`, then at least `least` of `chars`.

    It never begins inside a word. One that a preview cut short with an ellipsis is hidden too.
    """
    joins = "".join(sign for sign in "_-" if sign in chars.replace(_ALNUM, ""))
    return Shape(
        name,
        literals or (start,),
        rf"(?<![{_ALNUM}{joins}])",
        rf"{start}(?:[{chars}]{{{least},{_MOST}}}|[{chars}]{{0,{least}}}{_CUT})",
        rf"{start}[{chars}]{{0,{_MOST}}}",
    )


_KEY_OF = ("api", "access", "account", "private")
_NAMES = (
    *("password", "passwd", "passphrase", "pwd", "secret", "token"),
    *(f"{kind}{join}key" for kind in _KEY_OF for join in ("_", "-", "")),
)
_NAME = (
    r"pass(?:word|wd|phrase)|pwd(?![\"' \t:=]{0,12}[/~.])|secret(?:[_-]?(?:access[_-]?)?key)?"
    rf"|(?:{'|'.join(_KEY_OF)})[_-]?key"
)
_LEAD = r"(?:(?<![A-Za-z0-9])|(?-i:(?<=[a-z])(?=[A-Z])))"
_IS = r"\\?[\"']?[ \t]{0,8}%s[ \t]{0,8}"
_NO_VARIABLE = r"(?!\$(?:\(|\{?[A-Za-z_][A-Za-z0-9_]{0,63}\}?(?:[\s&;,\"'<>)]|\Z)))"
_HAS_DIGIT = r"(?=[^\s0-9]{0,200}[0-9])"


def _named(name: str, label: str, secret: str, begun: str) -> Shape:
    return Shape(name, _NAMES, label, secret, begun, folded=True)


SHAPES: tuple[Shape, ...] = (
    _token("longhouse", "lha?_", "0-9a-f", 32, "lh_", "lha_"),
    _token("github", "gh[pousr]_", _ALNUM, 8, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _token("github fine-grained", "github_pat_", "A-Za-z0-9_", 8),
    _token(
        "gitlab",
        "gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|soat|wt)-",
        f".{_WORD}",
        16,
        *("glagent-", "glcbt-", "gldt-", "glffct-", "glft-", "glimt-"),
        *("gloas-", "glpat-", "glptt-", "glrt-", "glsoat-", "glwt-"),
    ),
    _token("gitlab runner", "GR1348941", _WORD, 16),
    _token("slack", "xox[a-z](?:[.]xox[a-z])?-", "A-Za-z0-9-", 10, "xox"),
    _token("slack app", "xapp-", "A-Za-z0-9-", 10),
    Shape(
        "slack webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/",
        rf"[{_ALNUM}/_-]{{8,200}}",
        rf"[{_ALNUM}/_-]{{0,200}}",
    ),
    _token(
        "stripe",
        "[rs]k_(?:live|test)_",
        _ALNUM,
        10,
        *("sk_live_", "sk_test_", "rk_live_", "rk_test_"),
    ),
    _token("stripe webhook", "whsec_", _BASE64, 16),
    _token("google api key", "AIza", _WORD, 30),
    _token("google oauth", "ya29[.]", f".{_WORD}", 20, "ya29."),
    _token("google client secret", "GOCSPX-", _WORD, 20),
    _token("google refresh token", "1//0", _WORD, 30),
    Shape(
        "aws key id",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        rf"(?<![{_ALNUM}])",
        # Includes the secret key that often follows directly.
        rf"A(?:KIA|SIA|BIA|CCA)(?:[A-Z0-9]{{16}}(?![{_ALNUM}])(?:[\s,:|\"']{{1,4}}"
        rf"(?:[{_ALNUM}/+]{{40}}(?![{_ALNUM}/+])|[{_ALNUM}/+]{{0,40}}{_CUT}))?"
        rf"|[A-Z0-9]{{0,16}}{_CUT})",
        rf"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{{0,16}}(?:[\s,:|\"']{{1,4}}[{_ALNUM}/+]{{0,40}})?",
    ),
    _token(
        "aws session token",
        "(?:IQoJb3JpZ2lu|F[Qw]oGZXIvYXdz)",
        _BASE64,
        40,
        *("IQoJb3JpZ2lu", "FQoGZXIvYXdz", "FwoGZXIvYXdz"),
    ),
    _token("npm", "npm_", _ALNUM, 30),
    _token("hugging face", "hf_", _ALNUM, 30),
    _token("openai, anthropic", "sk-", _WORD, 20),
    Shape(
        "jwt",
        ("eyJ",),
        rf"(?<![{_WORD}])",
        rf"eyJ[{_WORD}]{{8,8192}}+(?:(?:\.[{_WORD}]{{0,4096}}+){{2,4}}"
        rf"|(?:\.[{_WORD}]{{0,4096}}+)?{_CUT})",
        rf"eyJ[.{_WORD}]{{0,{_MOST}}}",
    ),
    Shape(
        "private key block",
        ("-----BEGIN ",),
        "",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        rf"(?:[^-]|-(?!----)){{0,{_MOST}}}+(?:-----END [A-Z0-9 ]{{0,60}}-----)?",
        rf"-----BEGIN [A-Z0-9 ]{{0,60}}-{{0,5}}(?:[^-]|-(?!----)){{0,{_MOST}}}+"
        r"(?:-----E[A-Z0-9 ]{0,62}-{0,4}|-{0,5})",
    ),
    Shape(
        "url password",
        ("://",),
        r"://[^\s/:@\"'<>]{0,512}+:",
        rf"(?!x-oauth-basic@)[^\s/\"'<>{_CUT}]{{1,{_MOST}}}(?:(?=@)|{_CUT})",
        rf"[^\s/\"'<>]{{0,{_MOST}}}",
    ),
    Shape(
        "url token",
        ("://",),
        "://",
        r"[^\s/:@\"'<>]{4,512}(?=:x-oauth-basic@)",
        r"[^\s/:@\"'<>]{0,512}",
    ),
    Shape(
        "authorization header",
        ("authorization",),
        r"authorization\\?[\"']?[ \t]{0,8}[:=][ \t]{0,8}\\?[\"']?"
        r"(?:basic|bearer|token|digest|negotiate|apikey)[ \t]{1,8}",
        rf"[^\s\"',;<>]{{4,{_MOST}}}",
        rf"[^\s\"',;<>]{{0,{_MOST}}}",
        folded=True,
    ),
    Shape(
        "bearer",
        ("bearer",),
        rf"(?<![{_ALNUM}])bearer[ \t]{{1,8}}",
        r"(?=[A-Za-z._~+/=-]{0,200}[0-9]|[A-Za-z._~+/=-]{20})"
        rf"[A-Za-z0-9._~+/=-]{{8,{_MOST}}}",
        rf"[A-Za-z0-9._~+/=-]{{0,{_MOST}}}",
        folded=True,
    ),
    Shape(
        "basic",
        ("basic",),
        rf"(?<![{_ALNUM}])basic[ \t]{{1,8}}",
        r"(?-i:[A-Za-z0-9+/]{4,4096}+={1,2}|(?=[^\sA-Z]{0,200}[A-Z])(?=[^\sa-z]{0,200}[a-z])"
        r"(?=[^\s0-9]{0,200}[0-9])[A-Za-z0-9+/]{16,4096})",
        rf"[{_BASE64}=]{{0,4096}}",
        folded=True,
    ),
    _named(
        "name=secret",
        rf"{_LEAD}(?:{_NAME}|token){_IS % '='}",
        rf"{_NO_VARIABLE}[^\s&;,\"'<>]{{4,{_MOST}}}",
        rf"[^\s&;,\"'<>]{{0,{_MOST}}}",
    ),
    _named(
        "name: 'a secret'",
        rf"{_LEAD}(?:{_NAME}|token){_IS % '(?:=>|[:=])'}\\?[\"']",
        rf"{_NO_VARIABLE}[^\"'\r\n\\]{{1,{_MOST}}}",
        rf"[^\"'\r\n\\]{{0,{_MOST}}}",
    ),
    _named(
        "name: secret",
        rf"{_LEAD}(?:{_NAME}|(?<=[_-])token){_IS % ':'}",
        rf"{_HAS_DIGIT}[^\s&;,\"'<>]{{6,{_MOST}}}",
        rf"[^\s&;,\"'<>]{{0,{_MOST}}}",
    ),
    _named(
        "--name secret",
        rf"(?<=-)(?:{_NAME}|token)[ \t]{{1,8}}[\"']?",
        rf"(?![-$]){_HAS_DIGIT}[^\s\"'<>]{{4,{_MOST}}}",
        rf"[^\s\"'<>]{{0,{_MOST}}}",
    ),
)
"""Every kind of secret that is hidden; a test has examples of each, and of what must stay."""


class _ByLiteral:
    """Shapes indexed by their literals: those matched exactly and those matched in any case."""

    def __init__(self, shapes: Iterable[Shape]) -> None:
        self.exact: dict[str, list[Shape]] = {}
        self.folded: dict[str, list[Shape]] = {}
        for shape in shapes:
            grouped = self.folded if shape.folded else self.exact
            for literal in shape.literals:
                grouped.setdefault(literal, []).append(shape)


_ALL = _ByLiteral(SHAPES)
_OURS = _ByLiteral(SHAPES[:1])


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\\]")


def views(text: str, *, painted: bool = True) -> Iterable[Unmasked | Painted]:
    """The other ways to read a text, if it may hide something.

    Those `painted` as on a screen are only lines of it: its start need not be theirs.
    """
    if text.isascii() and not _CONTROL.search(text):
        return ()
    from longhouse.kernel.disguise import views as found

    return found(text, painted=painted)


def secret_spans(text: str) -> list[Span]:
    """The spans of the secrets in a text, without their labels, sorted and not overlapping."""
    found = list(_found(text, _ALL))
    for view in views(text):
        found += [view.back(*span) for span in _found(view.text, _ALL)]
    merged: list[Span] = []
    for start, stop in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def own_tokens(text: str) -> Iterator[str]:
    """Every Longhouse token in a text, valid or not, without its disguise."""
    for seen in (text, *(view.text for view in views(text))):
        for start, stop in _found(seen, _OURS):
            yield seen[start:stop]


def open_from(text: str) -> int:
    """The offset from which the end of a text may be part of a secret that continues after it.

    A stream shown as it arrives must hold back the text from there. The length of the text if
    nothing needs to be held back.
    """
    held = _open_from(text)
    for view in views(text):
        if (at := _open_from(view.text)) < len(view.text):
            held = min(held, view.back(at, len(view.text))[0])
    return held


def _open_from(text: str) -> int:
    held = len(text)
    behind: dict[tuple[Shape, str], int] = {}
    for at, shape, literal in _candidates(text, _ALL, max(0, held - LONGEST)):
        if behind.get((shape, literal), 0) <= at < held and (hit := shape.begun.match(text, at)):
            if hit.end() == len(text):
                held = at
            behind[shape, literal] = hit.end()
    return held


def shut_until(text: str) -> int:
    """The offset up to which the start of a text may be part of a secret that began before it."""
    shut = _shut_until(text)
    for view in views(text, painted=False):
        if stop := _shut_until(view.text):
            shut = max(shut, view.back(0, stop)[1])
    return shut


def _shut_until(text: str) -> int:
    block = _BLOCK_ENDS.match(text)
    return max(_FIRST_RUN.match(text).end(), block.end() if block else 0)  # type: ignore[union-attr]


_FIRST_RUN = re.compile(rf"[^\s\"'<>]{{0,{_MOST}}}", re.ASCII)
_BLOCK_ENDS = re.compile(
    rf"(?:[^-]|-(?!----)){{0,{_MOST}}}+-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY[A-Z ]{{0,6}}-----"
)


def _found(text: str, by_literal: _ByLiteral) -> Iterator[Span]:
    behind: dict[tuple[Shape, str], int] = {}
    for at, shape, literal in _candidates(text, by_literal):
        if at >= behind.get((shape, literal), 0) and (hit := shape.pattern.match(text, at)):
            behind[shape, literal] = hit.end()
            if hit["secret"].strip("*"):  # not masked already
                yield hit.span("secret")


def _candidates(
    text: str, by_literal: _ByLiteral, first: int = 0
) -> Iterator[tuple[int, Shape, str]]:
    """The offsets at which to try each shape, literal by literal."""
    spend(len(text))
    folded = _folded(text) if by_literal.folded else ""
    for where, literals in ((text, by_literal.exact), (folded, by_literal.folded)):
        for literal in [one for one in literals if one in where]:  # most texts hold none
            at = where.find(literal, first)
            while at >= 0:
                for shape in literals[literal]:
                    yield at, shape, literal
                at = where.find(literal, at + 1)


def _folded(text: str) -> str:
    """The text in lower case, with every character at its original offset."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(char.lower() if char.isascii() else char for char in text)
