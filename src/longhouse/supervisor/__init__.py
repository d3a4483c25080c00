"""How a program is started, watched, captured and ended: one way for the whole house.

Runner, subagents and the process host stand on it; it knows nothing of jobs, tasks or the store.
"""
