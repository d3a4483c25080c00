"""Reports which contract clauses the tests have proved, by contract and by room.

A clause is proved when at least one test that names it ran and none of those that ran failed. Reads
the clauses and the record kept by `tests/plugins/proves.py`; also writes the report as JSON.
"""

from __future__ import annotations

import json
import signal
import sys
import textwrap
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Clause = dict[str, str]
Record = dict[str, dict[str, Any]]
Row = tuple[str, int, int]

CONTRACTS = {
    "DEL": "delegation",
    "MEM": "reasoning-memory",
    "OPS": "operative-protocol",
    "SUB": "subagent-dispatch",
    "TTA": "tool-tasks",
}
STATES = {
    "failing": "named by a test that failed",
    "not run": "named by tests that have not run",
    "no test": "named by no test",
}


def main(root: Path = Path()) -> int:
    clauses = read_clauses(root / "tests/contracts/clauses.toml")
    recorded = root / "build/proves.json"
    record = read_record(recorded)
    unknown = unknown_ids(clauses, record)
    states = judge(clauses, record)
    write_json(root / "build/contracts.json", clauses, states, unknown)
    show(clauses, states)
    if not recorded.exists():
        print("\nNo test run is on record: run `make test` first.")
    for nodeid, ids in unknown.items():
        print(f"\n{nodeid} names clauses that do not exist: {' '.join(ids)}", file=sys.stderr)
    return bool(unknown)


def read_clauses(path: Path) -> list[Clause]:
    clauses: list[Clause] = tomllib.loads(path.read_text(encoding="utf-8"))["clause"]
    return clauses


def read_record(path: Path) -> Record:
    """The recorded outcome of each test that names clauses; empty if there is no record yet."""
    try:
        tests: Record = json.loads(path.read_text(encoding="utf-8"))["tests"]
    except (FileNotFoundError, ValueError, KeyError):
        return {}
    return tests


def unknown_ids(clauses: Iterable[Clause], record: Record) -> dict[str, list[str]]:
    known = {clause["id"] for clause in clauses}
    strays = {nodeid: sorted(set(entry["proves"]) - known) for nodeid, entry in record.items()}
    return {nodeid: ids for nodeid, ids in sorted(strays.items()) if ids}


def judge(clauses: Iterable[Clause], record: Record) -> dict[str, str]:
    """Each clause's state: `proved`, or one of `STATES`."""
    outcomes: dict[str, set[str]] = defaultdict(set)
    for entry in record.values():
        for id_ in entry["proves"]:
            outcomes[id_].add(entry["outcome"])
    return {clause["id"]: _state(outcomes[clause["id"]]) for clause in clauses}


def _state(outcomes: set[str]) -> str:
    if "failed" in outcomes:
        return "failing"
    if "passed" in outcomes:
        return "proved"
    return "not run" if outcomes else "no test"


def tally(clauses: Iterable[Clause], states: Mapping[str, str], by: str) -> list[Row]:
    """Rows `(name, proved, unproved)` by `contract` or by `room`."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for clause in clauses:
        counts[_group(clause, by)][states[clause["id"]] != "proved"] += 1
    return [(name, proved, unproved) for name, (proved, unproved) in sorted(counts.items())]


def _group(clause: Clause, by: str) -> str:
    if by == "room":
        return clause["room"]
    prefix = clause["id"].split("-")[0]
    return CONTRACTS.get(prefix, prefix)


def show(clauses: list[Clause], states: Mapping[str, str]) -> None:
    for by in ("contract", "room"):
        print(f"{by:20} {'proved':>7} {'unproved':>9} {'of':>5}")
        for name, proved, unproved in tally(clauses, states, by):
            print(f"{name:20} {proved:7} {unproved:9} {proved + unproved:5}")
        print()
    proved = sum(state == "proved" for state in states.values())
    must = {clause["id"] for clause in clauses if clause["strength"] == "must"}
    must_proved = sum(states[id_] == "proved" for id_ in must)
    print(
        f"{proved} of {len(clauses)} clauses proved, {must_proved} of {len(must)} that must hold."
    )
    for state, meaning in STATES.items():
        by_room: dict[str, list[str]] = defaultdict(list)
        for clause in clauses:
            if states[clause["id"]] == state:
                by_room[clause["room"]].append(clause["id"])
        if by_room:
            print(f"\nUnproved, {meaning}:")
        for room, ids in sorted(by_room.items()):
            print(textwrap.fill(" ".join(ids), 100, **_indent(room), break_on_hyphens=False))


def _indent(room: str) -> dict[str, Any]:
    return {"initial_indent": f"  {room:11}", "subsequent_indent": " " * 13}


def write_json(
    path: Path,
    clauses: list[Clause],
    states: Mapping[str, str],
    unknown: Mapping[str, list[str]],
) -> None:
    def table(by: str) -> dict[str, dict[str, int]]:
        return {name: {"proved": p, "unproved": u} for name, p, u in tally(clauses, states, by)}

    summary = {
        "total": len(states),
        "proved": sum(state == "proved" for state in states.values()),
        "contracts": table("contract"),
        "rooms": table("room"),
        "unproved": {id_: state for id_, state in states.items() if state != "proved"},
        "unknown": dict(unknown),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `make contracts | head` ends quietly
    sys.exit(main())
