"""The thinking room: cards, their engine, packs, traces, anchors and transcripts.

Owns a team's reasoning: hypotheses, tests, evidence and decisions as cards in memory's graphs,
their citations, the anchors that name the parts of a system, and read access to the transcripts
that agents left on this machine.
"""

from typing import TYPE_CHECKING

from longhouse.kernel.doors import door

if TYPE_CHECKING:
    from longhouse.thinking.anchors import register_missing
    from longhouse.thinking.argument import argument_of_step
    from longhouse.thinking.citing import cite, cited_by
    from longhouse.thinking.context import query_cards
    from longhouse.thinking.context_pack import show_context_pack
    from longhouse.thinking.cutting import EngineCut
    from longhouse.thinking.vocabulary import DEAD
else:
    __getattr__ = door(__name__)
