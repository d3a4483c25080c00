"""The settings of the person who runs Longhouse, kept apart from what a repository may set.

`settings` resolves every setting, and `sources` says which file may set which of them. `stores`
finds a project's store, `projects` is the index that lists it, `moving` moves it, and `folder`
refuses one that others could have changed. `environment` is the only reader of environment
variables and builds the argv and environment of the programs we start. Nothing here starts a
program.
"""

from typing import TYPE_CHECKING

from longhouse.kernel.doors import door

if TYPE_CHECKING:
    from longhouse.config import moving
    from longhouse.config.environment import (
        absolute_path_only,
        client_homes,
        data_home,
        environment_with,
        own_argv,
        user_file,
        wants_colour,
        wants_tracebacks,
    )
    from longhouse.config.folder import UntrustedStore, check_folder, check_tracked
    from longhouse.config.places import DIR_NAME, git_folder, project_root, worktree_root
    from longhouse.config.projects import Index, ProjectEntry, git_id, id_file, new_id
    from longhouse.config.roots import (
        OwnProject,
        is_other_repository,
        own_project,
        own_record,
        project_ids,
    )
    from longhouse.config.settings import DEFAULT_PORT, Settings, load
    from longhouse.config.sources import Sources
    from longhouse.config.stores import Homes, OldStore, StorePlace, find_store
else:
    __getattr__ = door(__name__)
