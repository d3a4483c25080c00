"""The page's example of an executor works as it stands."""

from __future__ import annotations

from typing import Any

from tests.runner.kit import Rig
from tests.walks import blocks


def test_the_executor_of_the_page_runs_a_job(rig: Rig) -> None:
    (text,) = blocks("docs/runner.md", "python")
    names: dict[str, Any] = {}
    exec(text, names)
    rig.means.executors.clear()
    rig.means.executors["shell"] = names["make"](rig.options)
    ref = rig.note()
    made = rig("jobs.create", title="Look", prompt=f"""echo "{{\\"refs\\": [\\"{ref}\\"]}}" """)
    job = made["job"]["id"]
    rig.claim(job)()
    assert rig.status(job) == "DONE"
    assert ref in rig.view(job)["job"]["refs"]
