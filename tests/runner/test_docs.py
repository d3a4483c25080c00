"""The documented example of an executor works as written."""

from __future__ import annotations

import sys
import tomllib
from functools import partial
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from longhouse.executors.installed import GROUP, find_executors
from longhouse.runner.heartbeat import ActiveJobs, Heartbeat
from longhouse.runner.loop import offers_of
from tests.runner.kit import Rig
from tests.walks import blocks


def test_the_executor_of_the_page_runs_the_jobs_that_ask_for_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    (text,) = blocks("docs/runner.md", "python")
    (declared,) = blocks("docs/runner.md", "toml")
    package = ModuleType("my_package")
    exec(text, package.__dict__)
    monkeypatch.setitem(sys.modules, "my_package", package)
    points = tomllib.loads(declared)["project"]["entry-points"][GROUP]
    monkeypatch.setattr(
        "importlib.metadata.entry_points",
        lambda **_: [EntryPoint(name, value, GROUP) for name, value in points.items()],
    )
    rig.context.executors.update(find_executors(rig.options))
    Heartbeat(rig.context, ActiveJobs(), partial(offers_of, rig.context)).introduce()

    ref = rig.note()
    prompt = f"""echo "{{\\"refs\\": [\\"{ref}\\"]}}" """
    made = rig("jobs.create", title="Look", prompt=prompt, executor="acme.shell")
    assert made["routing"]["executor"] == "acme.shell"
    job = made["job"]["id"]
    rig.claim(job)()
    assert rig.status(job) == "DONE"
    assert ref in rig.view(job)["job"]["refs"]
