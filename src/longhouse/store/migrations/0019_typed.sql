-- Terminal input that no runner has taken yet, for several servers that share a store. The table
-- is in no write-ahead log and no export, and holds a row only for moments. With SQLite it stays
-- empty: the single server keeps the input in memory.

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
