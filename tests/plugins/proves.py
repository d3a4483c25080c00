"""Ties tests to contract clauses: `@pytest.mark.proves("DEL-001", "DEL-002")`.

A test names one to six clauses; an id that `clauses.toml` does not list is a collection error.
After a run, the controller merges the outcomes into `build/proves.json`, which `tools/contracts.py`
reads. Works with and without xdist.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Generator
from typing import Any

import pytest

from tools.contracts import Record, read_clauses, read_record

LIMIT = 6


class Tracer:
    """What one process saw: each collected test's clauses, and the outcomes of those that ran."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.clauses = _clause_ids(config)
        self.claims: dict[str, list[str]] = {}
        self.outcomes: dict[str, str] = {}
        self.broken: set[str] = set()

    # Collection, in every process.

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        complaints = [
            f"{node.nodeid}: {complaint}"
            for node in report.result or []
            if isinstance(node, pytest.Item)
            for complaint in self._complaints(node)
        ]
        if not complaints:
            return report
        return pytest.CollectReport(collector.nodeid, "failed", "\n".join(complaints), [])

    def _complaints(self, item: pytest.Item) -> list[str]:
        marks = list(item.iter_markers("proves"))
        if not marks:
            return []
        if not all(mark.args and not mark.kwargs and _all_text(mark.args) for mark in marks):
            return ['proves takes only clause ids: @pytest.mark.proves("DEL-001")']
        ids = _ids(item)
        unknown = [repr(id_) for id_ in ids if id_ not in self.clauses]
        complaints = []
        if unknown:
            complaints.append(f"proves names unknown clauses: {', '.join(unknown)}")
        if len(ids) > LIMIT:
            complaints.append(
                f"proves names {len(ids)} clauses; split the test, {LIMIT} is the limit"
            )
        return complaints

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        # Runs first, so that tests which -k or -m will deselect are still known to exist.
        for item in items:
            ids = _ids(item)
            self.claims[item.nodeid] = ids
            if ids:
                item.user_properties.append(("proves", " ".join(ids)))

    # Results: workers send their claims to the controller, which sees every report.

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.claims.update(getattr(node, "workeroutput", {}).get("proves_claims", {}))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.broken.add(_file(report.nodeid))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        before = self.outcomes.get(report.nodeid)
        if report.failed:
            self.outcomes[report.nodeid] = "failed"
        elif before == "failed":
            return
        elif report.skipped or hasattr(report, "wasxfail"):
            self.outcomes[report.nodeid] = "skipped"
        elif report.when == "call" and before is None:
            self.outcomes[report.nodeid] = "passed"

    def pytest_sessionfinish(self) -> None:
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["proves_claims"] = self.claims
        elif not self.config.option.collectonly:
            self._save()

    def _save(self) -> None:
        root = self.config.rootpath
        path = root / self.config.getini("proves_record")
        old = {k: v for k, v in read_record(path).items() if (root / _file(k)).exists()}
        merged = merge(old, self.claims, self.outcomes, self._partly_collected(), self.broken)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".tmp")
        draft.write_text(json.dumps({"tests": merged}, indent=1, sort_keys=True) + "\n")
        draft.replace(path)

    def _partly_collected(self) -> set[str]:
        """The files of which the command line selected single tests."""
        started_in = self.config.invocation_params.dir
        files = {(started_in / _file(arg)).resolve() for arg in self.config.args if "::" in arg}
        root = self.config.rootpath.resolve()
        return {file.relative_to(root).as_posix() for file in files if file.is_relative_to(root)}


def merge(
    old: Record,
    claims: dict[str, list[str]],
    outcomes: dict[str, str],
    partly: Collection[str] = (),
    broken: Collection[str] = (),
) -> Record:
    """The record after a run.

    Tests that ran get their new outcome. Tests in a collected file take their clauses from it, and
    are dropped if the file no longer has them, unless the run selected only a part of the file.
    Tests in a file that could not be collected count as failed. Everything else is unchanged.
    """
    whole = {_file(nodeid) for nodeid in claims}.difference(partly)
    merged = {nodeid: dict(entry) for nodeid, entry in old.items() if _file(nodeid) not in whole}
    for nodeid, ids in claims.items():
        if ids:
            last = old.get(nodeid, {}).get("outcome", "not run")
            merged[nodeid] = {"outcome": outcomes.get(nodeid, last), "proves": ids}
        else:
            merged.pop(nodeid, None)
    for nodeid, entry in merged.items():
        if _file(nodeid) in broken:
            entry["outcome"] = "failed"
    return merged


def _file(nodeid: str) -> str:
    return nodeid.split("::")[0]


def _all_text(values: tuple[object, ...]) -> bool:
    return all(isinstance(value, str) for value in values)


def _ids(item: pytest.Item) -> list[str]:
    return list(dict.fromkeys(id_ for mark in item.iter_markers("proves") for id_ in mark.args))


def _clause_ids(config: pytest.Config) -> frozenset[str]:
    path = config.rootpath / config.getini("proves_clauses")
    if not path.is_file():
        raise pytest.UsageError(f"proves_clauses names a missing file: {path}")
    return frozenset(clause["id"] for clause in read_clauses(path))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("proves_clauses", "the clauses that tests may name", default="clauses.toml")
    parser.addini("proves_record", "where outcomes by clause are kept", default="build/proves.json")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "proves(*ids): the contract clauses that this test proves")
    config.pluginmanager.register(Tracer(config), "proves-tracer")
