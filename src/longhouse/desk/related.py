"""What is related to the task in focus: the best that was written elsewhere about the same."""

from __future__ import annotations

from longhouse.memory import find_documents
from longhouse.memory.types.documents import SearchDocuments, SearchHit
from longhouse.store.tx import Tx
from longhouse.work import Scene

__all__ = ["related_to"]

_LOOKED_AT = 12
_SHOWN = 3
_MOST_CHARS = 600


def related_to(tx: Tx, scene: Scene) -> list[SearchHit]:
    """The best hits of the title and the criteria, decisions first; nothing of its own."""
    step = scene.step_focus
    criteria = step.success_criteria if step else []
    text = " ".join([scene.target.title, *criteria]).replace('"', " ")[:_MOST_CHARS]
    if not any(char.isalnum() for char in text):
        return []
    said = len(tx.suggestions)
    found = find_documents(tx, SearchDocuments(text=text, limit=_LOOKED_AT))
    del tx.suggestions[said:]  # calls that refine a search are no way to go on with a task
    own = {scene.id}
    hits = [
        hit
        for hit in found.hits
        if not own & {hit.task, hit.id} and not hit.gone and hit.kind not in ("task", "plan")
    ]
    hits.sort(key=lambda hit: hit.type != "decision")
    return hits[:_SHOWN]
