"""The library is standalone."""

from __future__ import annotations

import subprocess
import sys


def test_the_library_imports_nothing_heavy_and_no_other_room() -> None:
    script = (
        "import sys; before = set(sys.modules); import longhouse.subagents; "
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before})); "
        "print(*sorted(name for name in sys.modules if name.startswith('longhouse.')))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    packages, modules = (set(line.split()) for line in shown)
    assert packages - set(sys.stdlib_module_names) <= {"longhouse", "msgspec", "typing_extensions"}
    rooms = {name.split(".")[1] for name in modules}
    assert rooms <= {"__about__", "kernel", "subagents"}
    optional = {"openai_runner", "recorder", "executor_runner"}
    assert not modules & {f"longhouse.subagents.{name}" for name in optional}
