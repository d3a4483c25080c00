"""The stem of an English word: Porter's algorithm (1980) and a few rules of our own.

`fail`, `failing`, `failures` and `failed` share a stem, and so do `expire`, `expiry` and
`expiration`. Words with digits or letters outside a-z are their own stem. Pure and deterministic.
"""

from __future__ import annotations

import re

__all__ = ["stem"]

_PLAIN = re.compile(r"[a-z]{3,32}\Z")
_VOWELS = "aeiou"
_KEPT = 60_000
_known: dict[str, str] = {}

_STEP_2 = (
    ("ational", "ate"), ("ization", "ize"), ("isation", "ize"), ("fulness", "ful"),
    ("ousness", "ous"), ("iveness", "ive"), ("tional", "tion"), ("biliti", "ble"),
    ("entli", "ent"), ("ousli", "ous"), ("ation", "ate"), ("alism", "al"), ("aliti", "al"),
    ("iviti", "ive"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("iser", "ize"),
    ("ator", "ate"), ("alli", "al"), ("abli", "able"), ("logi", "log"), ("eli", "e"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("alise", "al"), ("iciti", "ic"),
    ("ical", "ic"), ("ness", ""), ("ful", ""),
)  # fmt: skip
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "ise", "al", "er", "or", "ic", "ou",
)  # fmt: skip

_BEFORE_LI = tuple("cdeghkmnrtw")

_IRREGULAR = {
    form: base
    for base, forms in {
        "bad": "worse worst",
        "become": "became",
        "big": "bigger biggest",
        "begin": "began begun",
        "break": "broke broken",
        "bring": "brought",
        "build": "built",
        "buy": "bought",
        "catch": "caught",
        "child": "children",
        "choose": "chose chosen choice choices",
        "close": "closure",
        "come": "came",
        "decide": "decision decisions",
        "draw": "drew drawn",
        "drive": "drove driven",
        "eat": "ate eaten",
        "early": "earlier earliest",
        "fall": "fell fallen",
        "fast": "faster fastest",
        "feel": "felt",
        "find": "found",
        "forget": "forgot forgotten",
        "freeze": "froze frozen",
        "get": "got gotten",
        "give": "gave given",
        "go": "went gone",
        "good": "better best",
        "grow": "grew grown growth",
        "hang": "hung",
        "hear": "heard",
        "hide": "hid hidden",
        "high": "higher highest",
        "hold": "held",
        "index": "indexes indices indexed indexing",
        "keep": "kept",
        "large": "larger largest",
        "know": "knew known",
        "lead": "led",
        "lie": "lying",
        "long": "longer longest",
        "lose": "lost loss losses",
        "low": "lower lowest",
        "make": "made",
        "man": "men",
        "mean": "meant",
        "meet": "met",
        "new": "newer newest",
        "old": "older oldest",
        "pay": "paid payment payments",
        "person": "people",
        "rise": "rose risen",
        "run": "ran",
        "say": "said",
        "see": "saw seen",
        "sell": "sold",
        "send": "sent",
        "short": "shorter shortest",
        "slow": "slower slowest",
        "small": "smaller smallest",
        "speak": "spoke spoken",
        "spend": "spent",
        "stand": "stood",
        "steal": "stole stolen",
        "stick": "stuck",
        "store": "storage",
        "take": "took taken",
        "teach": "taught",
        "tell": "told",
        "think": "thought",
        "throw": "threw thrown",
        "understand": "understood",
        "wake": "woke woken",
        "wear": "wore worn",
        "win": "won",
        "write": "wrote written",
    }.items()
    for form in forms.split()
}


def stem(word: str) -> str:
    """The stem of a lower-case word."""
    found = _known.get(word)
    if found is None:
        found = _stem(word)
        if len(_known) >= _KEPT:
            _known.clear()  # a hostile text may hold any number of words
        _known[word] = found
    return found


def _stem(word: str) -> str:
    word = _IRREGULAR.get(word, word)
    if not _PLAIN.match(word):
        return word
    word = _endings(_plural(word))
    word = _replaced(_replaced(word, _STEP_2), _STEP_3)
    word = _last(word)
    if word.endswith("ur") and len(word) >= 6:  # failur(e), configur(e)
        word = word[:-2]
    return word


def _consonant(word: str, at: int) -> bool:
    letter = word[at]
    if letter in _VOWELS:
        return False
    return letter != "y" or at == 0 or not _consonant(word, at - 1)


def _measure(part: str) -> int:
    """How often a vowel is followed by a consonant."""
    count, vowel = 0, False
    for at in range(len(part)):
        if _consonant(part, at):
            count += vowel
            vowel = False
        else:
            vowel = True
    return count


def _has_vowel(part: str) -> bool:
    return any(not _consonant(part, at) for at in range(len(part)))


def _short_end(word: str) -> bool:
    """Whether it ends like `hop`: consonant, vowel, consonant other than w, x, y."""
    return (
        len(word) >= 3
        and _consonant(word, len(word) - 1)
        and not _consonant(word, len(word) - 2)
        and _consonant(word, len(word) - 3)
        and word[-1] not in "wxy"
    )


def _plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("ies"):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def _endings(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    cut = 2 if word.endswith("ed") else 3 if word.endswith("ing") else 0
    if cut and _has_vowel(word[:-cut]):
        word = word[:-cut]
        if word.endswith(("at", "bl", "iz")):
            word += "e"
        elif len(word) > 1 and word[-1] == word[-2] and word[-1] not in "lsz" + _VOWELS:
            word = word[:-1]
        elif _measure(word) == 1 and _short_end(word):
            word += "e"
    if word.endswith(("iry", "very")) and len(word) >= 6:  # expiry, delivery, recovery
        return word[:-1]
    if word.endswith("y") and len(word) > 2 and word[-2] not in _VOWELS:
        word = word[:-1] + "i"
    return word


def _replaced(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    for end, instead in rules:
        if word.endswith(end):
            part = word[: -len(end)]
            return part + instead if _measure(part) > 0 else word
    if rules is _STEP_2 and word.endswith("li") and word[-3:-2] in _BEFORE_LI:
        return word[:-2] if _measure(word[:-2]) > 0 else word
    return word


def _last(word: str) -> str:
    if word.endswith("ion"):
        part = word[:-3]
        if part.endswith(("s", "t")) and _measure(part) > 1:
            word = part
    else:
        for end in _STEP_4:
            if word.endswith(end):
                if _measure(word[: -len(end)]) > 1:
                    word = word[: -len(end)]
                break
    if word.endswith("e"):
        part = word[:-1]
        if _measure(part) > 1 or (_measure(part) == 1 and not _short_end(part)):
            word = part
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word
