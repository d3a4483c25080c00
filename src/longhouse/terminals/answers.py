"""A terminal's answers to its program's queries: identity, cursor position, modes, colors.

Only the process host sends them. They consist of numbers and fixed words: nothing a program printed
can come back to it as if it had been typed.
"""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["attributes", "colour", "cursor", "dcs", "mode"]

_FOREGROUND, _BACKGROUND = "d4/d4/d4", "1e/1e/1e"
_BASE = "00 00 00,cd 00 00,00 cd 00,cd cd 00,00 00 ee,cd 00 cd,00 cd cd,e5 e5 e5"
_BRIGHT = "7f 7f 7f,ff 00 00,00 ff 00,ff ff 00,5c 5c ff,ff 00 ff,00 ff ff,ff ff ff"
_PALETTE = [one.replace(" ", "/") for one in f"{_BASE},{_BRIGHT}".split(",")]
_KNOWN = frozenset({1, 6, 7, 25, 47, 1000, 1002, 1003, 1004, 1006, 1047, 1048, 1049, 2004})


def attributes(private: str, numbers: str) -> str:
    """Answer DA: a VT220 with colors; the version matches the terminal in the browser."""
    if numbers not in ("", "0"):
        return ""
    return {"": "\x1b[?62;22c", ">": "\x1b[>0;276;0c", "=": "\x1bP!|00000000\x1b\\"}.get(
        private, ""
    )


def cursor(private: str, numbers: str, row: int, col: int) -> str:
    """Answer DSR: OK, or the cursor's position, counted from 1."""
    if numbers == "5" and not private:
        return "\x1b[0n"
    if numbers == "6":
        return f"\x1b[{private}{row};{col}{';1' if private else ''}R"
    if numbers == "996" and private:
        return "\x1b[?997;1n"
    return ""


def mode(private: str, number: int, on: Collection[int]) -> str:
    """Answer DECRQM: 1 is on, 2 is off, 0 is unknown."""
    known = number in _KNOWN if private else number in (4, 20)
    return f"\x1b[{private}{number};{(1 if number in on else 2) if known else 0}$y"


def colour(said: str, end: str) -> str:
    """Answer OSC 10, 11, 12 and 4: light text on a dark background, and the usual palette."""
    which, _, rest = said.partition(";")
    if which in ("10", "11", "12") and rest == "?":
        return f"\x1b]{which};{_rgb(_BACKGROUND if which == '11' else _FOREGROUND)}{end}"
    number, _, asks = rest.partition(";")
    if which == "4" and asks == "?" and number.isascii() and number.isdigit() and len(number) < 4:
        found = _indexed(int(number))
        return f"\x1b]4;{number};{_rgb(found)}{end}" if found else ""
    return ""


def dcs(said: str) -> str:
    """Answer XTGETTCAP and DECRQSS with "unknown", so that the program stops waiting."""
    if said.startswith("+q"):
        return "\x1bP0+r\x1b\\"
    return "\x1bP0$r\x1b\\" if said.startswith("$q") else ""


def _indexed(number: int) -> str:
    if number < 16:
        return _PALETTE[number]
    if number < 232:
        levels = (number - 16) // 36, (number - 16) // 6 % 6, (number - 16) % 6
        return "/".join(f"{55 + 40 * level if level else 0:02x}" for level in levels)
    return "/".join([f"{8 + 10 * (number - 232):02x}"] * 3) if number < 256 else ""


def _rgb(colours: str) -> str:
    return "rgb:" + "/".join(part * 2 for part in colours.split("/"))
