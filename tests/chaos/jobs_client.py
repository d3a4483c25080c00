"""A client process of the chaos test: creates, claims, reports and completes until all is done.

It prints one line for each write that was acknowledged, so that the test can look for it later.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any

from longhouse.config import load
from longhouse.house import House


def main(folder: str, db: str, name: str, jobs: int, seconds: float) -> None:
    rng = random.Random(name)
    flags = {"dir": folder, "workspace": "chaos", "db": db}
    ends = time.monotonic() + seconds
    with House(load(flags, environ={}, cwd=Path(folder))) as house:

        def call(cmd: str, **args: Any) -> dict[str, Any] | None:
            answer = house.call(cmd, args)
            if not answer.success:
                return None
            result: dict[str, Any] = answer.envelope["result"]
            if isinstance(event := result.get("event"), dict):
                print(event["ref"], event["kind"], flush=True)
            return result

        for _ in range(jobs):
            call("jobs.create", title=name, prompt="p", idempotency_key=f"{name}-{_}")
        while time.monotonic() < ends:
            found = call("jobs.claim", runner_id=name, lease_ttl_ms=1_000, allow_stale=True)
            job = found and found["job"]
            if not job:
                left = house.call("jobs.list", {"status": "RUNNING", "limit": 1}).envelope
                queued = house.call("jobs.list", {"status": "QUEUED", "limit": 1}).envelope
                if not left["result"]["jobs"] and not queued["result"]["jobs"]:
                    return
                time.sleep(0.05)
                continue
            fence = {"job": job["id"], "runner_id": name, "claim_revision": job["revision"]}
            for step in range(rng.randint(0, 3)):
                time.sleep(0.03)
                call("jobs.report", **fence, message=f"step {step}", lease_ttl_ms=1_000)
            call("jobs.complete", **fence, status=rng.choice(["DONE", "FAILED"]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
