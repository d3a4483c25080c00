"""Tool tasks in the runner: it claims them, has its host run them, and reports them as frames.

All of a runner's state can be read again from the server and the host's folder, so after a crash
the next runner continues exactly where it stopped. `speaker.py` holds the threads.
"""
