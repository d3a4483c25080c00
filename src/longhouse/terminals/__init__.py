"""Terminals as data: keys, screens and recordings.

Pure and light: nothing here opens a store, a socket or a terminal. The room, the host and the
command line each import the modules they need.
"""

from typing import TYPE_CHECKING

from longhouse.kernel.doors import door

if TYPE_CHECKING:
    from longhouse.terminals import recording
    from longhouse.terminals.asciicast import AsciicastWriter, read_either, to_asciicast
    from longhouse.terminals.keys import bytes_of
    from longhouse.terminals.passive import Passive
    from longhouse.terminals.screen import LAG_BYTES, Screen
    from longhouse.terminals.sequences import NOTABLE, QUESTIONS
else:
    __getattr__ = door(__name__)
