"""Prints how long the last full run took, beside the budget for it, and where the time went.

Reads the JUnit report of `make test`. It never fails: machines differ, and a busy one is slow.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

REPORT = Path("build/junit.xml")
BUDGET_MIN = 8
"""What a full run may take on two cores."""
SHOWN = 6


def main(_args: list[str]) -> int:
    if not REPORT.exists():
        return 0
    (suite,) = ElementTree.parse(REPORT).getroot().iter("testsuite")
    spent: Counter[str] = Counter()
    for case in suite.iter("testcase"):
        _, room, *_ = [*case.attrib["classname"].split("."), ""]
        spent[room] += round(float(case.attrib["time"]) * 1000)
    took = float(suite.attrib["time"])
    over = "" if took <= BUDGET_MIN * 60 else ", over it"
    print(f"tests took {took / 60:.1f} min; the budget on two cores is {BUDGET_MIN} min{over}")
    total = sum(spent.values()) or 1
    shares = (f"{room} {100 * ms / total:.0f}%" for room, ms in spent.most_common(SHOWN))
    print("where it went    " + "  ".join(shares))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
