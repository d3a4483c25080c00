"""A fake `bd` for tests: issues in `.fake-bd.json` where it runs, and every argv it was given.

It accepts the arguments that Longhouse passes to the real one, rejects others as cobra does, and is
put on PATH under the name `bd`.
"""

import json
import pathlib
import sys

STORE = pathlib.Path(".fake-bd.json")


def fail(text: str) -> None:
    sys.exit(f"Error: {text}")


def main(argv: list[str]) -> None:
    state = json.loads(STORE.read_text()) if STORE.exists() else {"issues": {}, "argv": []}
    state["argv"].append(list(argv))
    actor = "somebody"
    if argv[:1] == ["--actor"]:
        actor = argv[1]
        argv = argv[2:]
    match argv:
        case ["list", "--json", "--all", "--limit", "0"]:
            print(json.dumps(list(state["issues"].values())))
        case ["create", title, "--json"]:
            id_ = f"bb-{len(state['issues']) + 1}"
            state["issues"][id_] = {"id": id_, "title": title, "status": "open"}
            print(json.dumps(state["issues"][id_]))
        case ["close" | "reopen" as verb, id_, *rest] if rest[:1] in ([], ["-r"]):
            issue = known(state, id_)
            issue["status"] = "closed" if verb == "close" else "open"
            issue["close_reason"] = rest[1] if rest else ""
        case ["comments", "add", id_, *words] if words[:1] == ["--"] or len(words) == 1:
            known(state, id_).setdefault("comments", []).append(
                {"author": actor, "text": words[-1]}
            )
        case ["update", id_, "--claim"]:
            issue = known(state, id_)
            if issue.get("assignee") not in (None, actor):
                fail(f"{id_} is claimed by {issue['assignee']}")
            issue |= {"assignee": actor, "status": "in_progress"}
        case ["update", id_, "-a", name]:
            known(state, id_)["assignee"] = name
        case ["update", id_, "-s", status]:
            if status not in ("open", "in_progress", "blocked", "deferred", "closed"):
                fail(f"invalid status: {status}")
            known(state, id_)["status"] = status
        case _:
            fail(f"unknown flag: {argv}")
    STORE.write_text(json.dumps(state))


def known(state: dict, id_: str) -> dict:
    if id_ not in state["issues"]:
        fail(f"no issue found matching {id_!r}")
    return state["issues"][id_]


main(sys.argv[1:])
