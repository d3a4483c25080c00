"""The desk: commands that span rooms or concern the house (status, open, workspace, system).

It owns the table of tokens; otherwise it calls the functions of the rooms below it.
"""

from typing import TYPE_CHECKING

from longhouse.kernel.doors import door

if TYPE_CHECKING:
    from longhouse.desk.opened import opened_parts
    from longhouse.desk.tokens import TOKENS, digest_of, workspaces_of
else:
    __getattr__ = door(__name__)
