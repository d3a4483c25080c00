"""The memory of a server that has answered its clients and is idle: at most 120 MiB."""

from __future__ import annotations

from pathlib import Path

import httpx2

from bench._harness import report
from bench._servers import longhouse

PROMISED_MIB = 120


def main() -> None:
    with longhouse() as up:
        with httpx2.Client(base_url=up.url, headers=up.headers) as http:
            for path in ("/openapi.json", "/metrics", "/"):
                http.get(path).raise_for_status()
            for number in range(50):
                http.post("/call/vcs.notes.commit", json={"content": f"{number}"})
                http.post("/call/status").raise_for_status()
        status = Path(f"/proc/{up.pid}/status").read_text()
        rss = next(int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line)
        print(f"# server-rest: {rss / 1024:.1f} MiB of {PROMISED_MIB}")
        report("server-rest", rss / 1024 / PROMISED_MIB, "<=1.0")


if __name__ == "__main__":
    main()
