"""`as_of` answers what a read answered when the log was there: random histories, both databases."""

from __future__ import annotations

import pytest

from tests.kit import Lh
from tests.past.histories import History, reads, told


@pytest.mark.parametrize("seed", range(4))
def test_a_read_as_of_a_seq_answers_what_it_answered_then(lh: Lh, seed: int) -> None:
    history = History(lh, seed)
    then = {}
    for _ in range(6):
        for _ in range(25):
            history.act()
        seq = lh("status")["seq"]
        then[seq] = [(cmd, args, told(lh(cmd, **args))) for cmd, args in reads(history)]
    for _ in range(40):
        history.act()
    for seq, answers in then.items():
        for cmd, args, answer in answers:
            assert told(lh(cmd, **args, as_of=seq)) == answer, (seq, cmd, args)
