-- Where the work of a workspace is done: the projects that are bound to it.

-- 'open' until a project is bound: the project whose own workspace it is binds it on first use.
-- 'bound' while projects are bound. 'closed' if only a person may bind one: it was imported, or
-- its last project was removed.
ALTER TABLE workspaces ADD COLUMN binding TEXT NOT NULL DEFAULT 'open';

-- A project is the random id of a repository on one host; `root` says where it was, for people.
CREATE TABLE workspace_projects (
    ws          INTEGER NOT NULL,
    project     TEXT    NOT NULL,
    root        TEXT    NOT NULL,
    bound_by    TEXT    NOT NULL,
    bound_at_ms INTEGER NOT NULL,
    PRIMARY KEY (ws, project)
) STRICT, WITHOUT ROWID;
