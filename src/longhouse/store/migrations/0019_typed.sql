-- What was typed into a terminal and no runner has taken yet, where several servers share a store:
-- a table that is in no log of the database and in no export, and holds a row for moments. With
-- SQLite it stays empty: the one server has it in memory.

-- only sqlite:
CREATE TABLE tool_typed (
    workspace   INTEGER NOT NULL,
    task        INTEGER NOT NULL,
    op          INTEGER NOT NULL,
    plain       TEXT    NOT NULL,
    application TEXT    NOT NULL,
    PRIMARY KEY (workspace, task, op)
) STRICT, WITHOUT ROWID;
-- end

-- only postgres:
CREATE UNLOGGED TABLE tool_typed (
    workspace   INTEGER NOT NULL,
    task        INTEGER NOT NULL,
    op          INTEGER NOT NULL,
    plain       TEXT    NOT NULL,
    application TEXT    NOT NULL,
    PRIMARY KEY (workspace, task, op)
);
-- end
