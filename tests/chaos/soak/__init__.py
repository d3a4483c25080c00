"""The soak: clients at work, a monkey that kills whatever runs, and a checker that misses nothing.

`client.py` writes and notes what was acknowledged, `world.py` starts and kills the processes,
`checker.py` compares the notes with the store, the processes and the work tree. `tools/soak.py`
runs it for minutes, `tests/chaos/test_soak.py` for a few acts.
"""
