"""The process host: owns the processes of a workspace's tool tasks, and writes down how they end.

`python -P -m longhouse.runner.host` is a small program of its own, one a folder, started by a
runner and nobody's child. Runners come and go; the processes stay. README.md has the folder of a
task, its states, what always holds, and what happens on failure.
"""
