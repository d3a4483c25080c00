-- The frame: workspaces with their one sequence, the log, counters, idempotency keys, tokens.

-- No table refers to workspaces with a foreign key: a writer already holds the lock on its
-- workspace's row, and PostgreSQL would look it up again for every row written.
CREATE TABLE workspaces (
    ws            INTEGER PRIMARY KEY,
    name          TEXT    NOT NULL UNIQUE,
    seq           INTEGER NOT NULL DEFAULT 0,
    project_guard TEXT,
    created_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE counters (
    ws    INTEGER NOT NULL,
    name  TEXT    NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (ws, name)
) STRICT, WITHOUT ROWID;

-- `span` is how many seqs a row accounts for, ending with its own: a room may number several parts.
CREATE TABLE log (
    ws      INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    ts_ms   INTEGER NOT NULL,
    stream  TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    actor   TEXT,
    data    TEXT    NOT NULL,
    span    INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (ws, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX log_of_subject ON log (ws, subject, seq);

CREATE TABLE idempotency (
    ws     INTEGER NOT NULL,
    key    TEXT    NOT NULL,
    cmd    TEXT    NOT NULL,
    digest TEXT    NOT NULL,
    ts_ms  INTEGER NOT NULL,
    answer TEXT    NOT NULL,
    PRIMARY KEY (ws, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_by_age ON idempotency (ts_ms);

CREATE TABLE tokens (
    token_id      TEXT    NOT NULL PRIMARY KEY,
    digest        TEXT    NOT NULL UNIQUE,
    role          TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    revoked_at_ms INTEGER
) STRICT;
