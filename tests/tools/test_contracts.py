"""`make contracts`: which clauses count as proved, and what it reports about the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import contracts
from tools.contracts import CONTRACTS, judge, main, read_clauses

ROOT = Path(__file__).parents[2]


def clause(id_: str, room: str = "jobs") -> dict[str, str]:
    return {"id": id_, "room": room, "strength": "must"}


@pytest.mark.parametrize(
    "outcomes, state",
    [
        ([], "no test"),
        (["not run"], "not run"),
        (["skipped"], "not run"),
        (["passed"], "proved"),
        (["passed", "skipped"], "proved"),
        (["passed", "failed"], "failing"),
        (["skipped", "failed"], "failing"),
    ],
)
def test_a_clause_is_proved_when_a_test_ran_and_none_failed(
    outcomes: list[str], state: str
) -> None:
    record = {str(n): {"outcome": o, "proves": ["DEL-001"]} for n, o in enumerate(outcomes)}
    assert judge([clause("DEL-001")], record) == {"DEL-001": state}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tests/contracts").mkdir(parents=True)
    (tmp_path / "build").mkdir()
    (tmp_path / "tests/contracts/clauses.toml").write_text(
        "".join(
            f'[[clause]]\nid = "{id_}"\nroom = "{room}"\nstrength = "must"\n'
            for id_, room in [("DEL-001", "jobs"), ("DEL-002", "runner"), ("MEM-001", "memory")]
        )
    )
    return tmp_path


def record(project: Path, *ids: str) -> None:
    entry = {"outcome": "passed", "proves": list(ids)}
    (project / "build/proves.json").write_text(json.dumps({"tests": {"a.py::t": entry}}))


def test_counts_by_contract_and_room_are_printed_and_written(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(project, "DEL-001")
    assert main(project) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split() for line in printed if line.startswith("delegation")] == [
        ["delegation", "1", "1", "2"]
    ]
    assert "1 of 3 clauses proved, 1 of 3 that must hold." in printed
    assert "  runner     DEL-002" in printed
    written = json.loads((project / "build/contracts.json").read_text())
    assert written["proved"] == 1
    assert written["rooms"]["jobs"] == {"proved": 1, "unproved": 0}
    assert written["unproved"] == {"DEL-002": "no test", "MEM-001": "no test"}


def test_an_unknown_id_on_record_fails(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(project, "DEL-001", "DEL-777")
    assert main(project) == 1
    assert "a.py::t names clauses that do not exist: DEL-777" in capsys.readouterr().err


def test_without_a_run_nothing_is_proved(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(project) == 0
    assert "run `make test` first" in capsys.readouterr().out


def test_the_clauses_of_this_repository_are_well_formed() -> None:
    clauses = read_clauses(ROOT / "tests/contracts/clauses.toml")
    ids = [entry["id"] for entry in clauses]
    assert len(set(ids)) == len(ids)
    assert {id_.split("-")[0] for id_ in ids} == set(contracts.CONTRACTS) == set(CONTRACTS)
    assert {entry["strength"] for entry in clauses} == {"must", "should", "may"}
    assert all(entry["text"] and entry["section"] and entry["room"] for entry in clauses)
