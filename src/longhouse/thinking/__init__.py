"""The thinking room: cards, their engine, packs, traces, anchors and transcripts.

Owns a team's reasoning: hypotheses, tests, evidence and decisions as cards in memory's graphs,
their citations, the anchors that name the parts of a system, and read access to the transcripts
that agents left on this machine. Higher rooms call these functions:

    find_card(tx, id)                    a card by its id, in any graph
    cited_by(tx, ref), cite(tx, …)       what cites a record
"""

from __future__ import annotations

from longhouse.thinking.room import room

__all__ = ["room"]
