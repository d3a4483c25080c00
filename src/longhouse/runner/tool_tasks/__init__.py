"""Tool tasks in the runner: it claims them, has its host run them, and tells the server by frames.

Everything that a runner knows can be read again, from the server and from the host's folder; so the
next one goes on exactly where a killed one stopped. `speaker.py` holds the threads.
"""
