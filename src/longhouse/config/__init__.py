"""The settings of the person who runs Longhouse, kept apart from what a repository may set.

`settings` resolves every setting, and `sources` says which file may set which of them. `stores`
finds a project's store, `projects` is the index that lists it, `moving` moves it, and `folder`
refuses one that others could have changed. `environment` is the only reader of environment
variables and builds the argv and environment of the programs we start. Nothing here starts a
program.
"""

from longhouse.config.environment import (
    ClientHomes,
    absolute_path_only,
    client_homes,
    data_home,
    environment_with,
    own_argv,
    user_file,
    wants_colour,
    wants_tracebacks,
)
from longhouse.config.folder import UntrustedStore
from longhouse.config.places import DIR_NAME, project_root, worktree_root
from longhouse.config.settings import DEFAULT_PORT, Settings, load
from longhouse.config.sources import Found, Sources
from longhouse.config.stores import OldStore, StorePlace

__all__ = [
    "DEFAULT_PORT",
    "DIR_NAME",
    "ClientHomes",
    "Found",
    "OldStore",
    "Settings",
    "Sources",
    "StorePlace",
    "UntrustedStore",
    "absolute_path_only",
    "client_homes",
    "data_home",
    "environment_with",
    "load",
    "own_argv",
    "project_root",
    "user_file",
    "wants_colour",
    "wants_tracebacks",
    "worktree_root",
]
