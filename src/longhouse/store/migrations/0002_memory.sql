-- Memory: branches by base and cutoff, documents on branches, entries in documents, targeting.

CREATE TABLE branches (
    branch_id      INTEGER PRIMARY KEY,
    ws             INTEGER NOT NULL REFERENCES workspaces (ws),
    name           TEXT    NOT NULL,
    base_branch_id INTEGER REFERENCES branches (branch_id),
    base_seq       INTEGER,
    created_at_ms  INTEGER NOT NULL,
    UNIQUE (ws, name)
) STRICT;

CREATE TABLE documents (
    doc_id    INTEGER PRIMARY KEY,
    ws        INTEGER NOT NULL REFERENCES workspaces (ws),
    branch_id INTEGER NOT NULL REFERENCES branches (branch_id),
    doc       TEXT    NOT NULL,
    UNIQUE (branch_id, doc)
) STRICT;

CREATE TABLE doc_entries (
    ws              INTEGER NOT NULL REFERENCES workspaces (ws),
    seq             INTEGER NOT NULL,
    doc_id          INTEGER NOT NULL REFERENCES documents (doc_id),
    ts_ms           INTEGER NOT NULL,
    kind            TEXT    NOT NULL,
    title           TEXT,
    format          TEXT,
    meta            TEXT,
    content         TEXT    NOT NULL,
    source_event_id TEXT,
    PRIMARY KEY (ws, seq)
) STRICT;

CREATE INDEX doc_entries_of_doc ON doc_entries (doc_id, seq);

CREATE UNIQUE INDEX doc_entries_by_source ON doc_entries (doc_id, source_event_id)
WHERE source_event_id IS NOT NULL;

CREATE TABLE targeting (
    ws          INTEGER NOT NULL PRIMARY KEY REFERENCES workspaces (ws),
    checkout_id INTEGER REFERENCES branches (branch_id),
    focus       TEXT
) STRICT;
