-- Ledger: subagents that programs dispatched, each recorded from before its start to its end.

CREATE TABLE subagents (
    ws                  INTEGER NOT NULL,
    n                   INTEGER NOT NULL,
    dispatch_id         TEXT    NOT NULL,
    parent_id           TEXT,
    session_id          TEXT,
    depth               INTEGER NOT NULL,
    params              TEXT    NOT NULL,
    snapshot_digest     TEXT,
    snapshot            TEXT,
    status              TEXT    NOT NULL,
    presumed            INTEGER NOT NULL DEFAULT 0,
    message             TEXT    NOT NULL DEFAULT '',
    error_type          TEXT,
    tools               TEXT    NOT NULL DEFAULT '[]',
    usage               TEXT    NOT NULL DEFAULT '{}',
    artifacts           TEXT    NOT NULL DEFAULT '[]',
    missing_artifacts   TEXT    NOT NULL DEFAULT '[]',
    started_at_ms       INTEGER NOT NULL,
    lease_expires_at_ms INTEGER NOT NULL,
    finished_at_ms      INTEGER,
    created_seq         INTEGER NOT NULL,
    last_seq            INTEGER NOT NULL,
    PRIMARY KEY (ws, n)
) STRICT;

CREATE UNIQUE INDEX subagents_by_dispatch ON subagents (ws, dispatch_id);

CREATE INDEX subagents_of_parent ON subagents (ws, parent_id, n) WHERE parent_id IS NOT NULL;

CREATE INDEX subagents_of_session ON subagents (ws, session_id, n) WHERE session_id IS NOT NULL;

CREATE INDEX subagents_by_status ON subagents (ws, status, n);

CREATE INDEX subagents_leased ON subagents (ws, lease_expires_at_ms) WHERE status = 'running';

CREATE INDEX subagents_snapshots ON subagents (ws, snapshot) WHERE snapshot IS NOT NULL;
