"""The thinking room: cards, their engine, packs, traces, anchors and transcripts.

Owns what a team thought: hypotheses, tests, evidence and decisions as cards in the memory's graphs,
what cites them, the anchors that name the parts of a system, and the window into the transcripts
that agents left on this machine. Rooms above stand on these functions:

    find_card(tx, id)                    a card by its id, wherever it is written
    cited_by(tx, ref), cite(tx, …)       who points at a record
"""

from __future__ import annotations

from longhouse.thinking.room import room

__all__ = ["room"]
