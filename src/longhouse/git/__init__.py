"""Git on untrusted trees, in one place: nothing an agent can write makes git run a program.

The runner, the bridge and the command line use it. `repository` runs git, and nothing else does;
`changed_files` says what changed in a tree, and who could have changed it.
"""

from typing import TYPE_CHECKING

from longhouse.kernel.doors import door

if TYPE_CHECKING:
    from longhouse.git.changed_files import (
        CheckoutLook,
        CheckoutWatch,
        SharedTree,
        TreeWatch,
        as_reported,
        left_out,
        uncommitted,
    )
    from longhouse.git.repository import (
        FAILED,
        Repository,
        beside,
        exclude_as,
        folder_of_ours,
        found_at,
        private,
        said,
        why_not_git,
    )
else:
    __getattr__ = door(__name__)
