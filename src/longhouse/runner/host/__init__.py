"""The process host: owns the processes of a workspace's tool tasks, and records how they end.

`python -P -m longhouse.runner.host` is a small separate program, one per folder, started by a
runner but detached from it. Runners come and go; the processes stay. README.md describes the folder
of a task, its states, the invariants, and how failures are handled.
"""
