-- Memory: branches by base and cutoff, documents, entries, graph versions, merges, refs, search.

CREATE TABLE branches (
    branch_id      INTEGER PRIMARY KEY,
    ws             INTEGER NOT NULL,
    name           TEXT    NOT NULL,
    base_branch_id INTEGER REFERENCES branches (branch_id),
    base_seq       INTEGER,
    depth          INTEGER NOT NULL,
    created_seq    INTEGER NOT NULL,
    created_at_ms  INTEGER NOT NULL,
    UNIQUE (ws, name)
) STRICT;

CREATE INDEX branches_by_base ON branches (base_branch_id, base_seq)
WHERE base_branch_id IS NOT NULL;

CREATE INDEX branches_by_age ON branches (ws, created_seq);

CREATE TABLE documents (
    doc_id      INTEGER PRIMARY KEY,
    ws          INTEGER NOT NULL,
    branch_id   INTEGER NOT NULL REFERENCES branches (branch_id),
    doc         TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    created_seq INTEGER NOT NULL,
    UNIQUE (branch_id, doc)
) STRICT;

-- `committed` marks the notes that the version control surface shows; `origin_seq` the entry that
-- a merged note was copied from, so that a merge repeated after a rename copies nothing twice.
CREATE TABLE doc_entries (
    ws              INTEGER NOT NULL,
    seq             INTEGER NOT NULL,
    doc_id          INTEGER NOT NULL REFERENCES documents (doc_id),
    branch_id       INTEGER NOT NULL REFERENCES branches (branch_id),
    ts_ms           INTEGER NOT NULL,
    kind            TEXT    NOT NULL,
    committed       INTEGER NOT NULL,
    title           TEXT,
    format          TEXT,
    meta            TEXT,
    content         TEXT    NOT NULL,
    source_event_id TEXT,
    origin_seq      INTEGER,
    PRIMARY KEY (ws, seq)
) STRICT;

CREATE INDEX doc_entries_of_doc ON doc_entries (doc_id, seq);

CREATE INDEX doc_entries_committed ON doc_entries (branch_id, seq) WHERE committed = 1;

CREATE UNIQUE INDEX doc_entries_by_source ON doc_entries (doc_id, source_event_id)
WHERE source_event_id IS NOT NULL;

CREATE UNIQUE INDEX doc_entries_by_origin ON doc_entries (doc_id, origin_seq)
WHERE origin_seq IS NOT NULL;

-- Every version of every node and edge. An edge's key is from|rel|to, and no node id holds a `|`.
-- `until` is the seq of the version that replaced it on its branch, or 2^62 for the newest.
-- `live` is 1 for the newest, 0 for one replaced but inside the snapshot of a derived branch, and
-- null for history, so that what a branch sees is an index range, however long the history is.
CREATE TABLE graph_versions (
    ws      INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    doc_id  INTEGER NOT NULL REFERENCES documents (doc_id),
    ts_ms   INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    key     TEXT    NOT NULL,
    type    TEXT,
    title   TEXT,
    text    TEXT,
    status  TEXT,
    tags    TEXT,
    from_id TEXT,
    rel     TEXT,
    to_id   TEXT,
    meta    TEXT,
    deleted INTEGER NOT NULL,
    until   INTEGER NOT NULL,
    live    INTEGER,
    PRIMARY KEY (ws, seq)
) STRICT;

CREATE UNIQUE INDEX graph_versions_by_key ON graph_versions (doc_id, key, seq);

CREATE INDEX graph_versions_of_doc ON graph_versions (doc_id, seq);

CREATE INDEX graph_nodes_listed ON graph_versions (doc_id, live, seq)
WHERE kind = 'node' AND deleted = 0 AND live IS NOT NULL;

CREATE INDEX graph_nodes_by_type ON graph_versions (doc_id, type, live, seq)
WHERE kind = 'node' AND deleted = 0 AND live IS NOT NULL;

CREATE INDEX graph_nodes_by_status ON graph_versions (doc_id, status, live, seq)
WHERE kind = 'node' AND deleted = 0 AND live IS NOT NULL AND status IS NOT NULL;

CREATE INDEX graph_edges_between ON graph_versions (doc_id, from_id, to_id, rel, seq)
WHERE kind = 'edge';

-- The tags of nodes that are visible on some branch, according to `live`.
CREATE TABLE graph_tags (
    ws     INTEGER NOT NULL,
    doc_id INTEGER NOT NULL REFERENCES documents (doc_id),
    seq    INTEGER NOT NULL,
    tag    TEXT    NOT NULL,
    live   INTEGER NOT NULL,
    PRIMARY KEY (ws, doc_id, seq, tag)
) STRICT, WITHOUT ROWID;

CREATE INDEX graph_tags_by_tag ON graph_tags (doc_id, tag, live, seq);

-- How far a branch has been merged back, per key: the branch's version that the base has accepted
-- or refused, which is where the next three-way merge of that key starts.
CREATE TABLE graph_merge_bases (
    ws         INTEGER NOT NULL,
    doc_id     INTEGER NOT NULL REFERENCES documents (doc_id),
    key        TEXT    NOT NULL,
    merged_seq INTEGER NOT NULL,
    PRIMARY KEY (ws, doc_id, key)
) STRICT, WITHOUT ROWID;

-- A conflict is identified by the incoming version alone; its three sides are versions, or null.
CREATE TABLE graph_conflicts (
    ws             INTEGER NOT NULL,
    conflict_id    TEXT    NOT NULL,
    from_id        INTEGER NOT NULL REFERENCES branches (branch_id),
    into_id        INTEGER NOT NULL REFERENCES branches (branch_id),
    doc            TEXT    NOT NULL,
    kind           TEXT    NOT NULL,
    key            TEXT    NOT NULL,
    base_seq       INTEGER,
    theirs_seq     INTEGER NOT NULL,
    ours_seq       INTEGER,
    created_seq    INTEGER NOT NULL,
    created_at_ms  INTEGER NOT NULL,
    resolution     TEXT,
    resolved_seq   INTEGER,
    resolved_at_ms INTEGER,
    PRIMARY KEY (ws, conflict_id)
) STRICT;

CREATE INDEX graph_conflicts_listed ON graph_conflicts (into_id, doc, created_seq);

CREATE INDEX graph_conflicts_open ON graph_conflicts (into_id, doc, created_seq)
WHERE resolved_seq IS NULL;

CREATE INDEX graph_conflicts_of_key ON graph_conflicts (from_id, doc, key)
WHERE resolved_seq IS NULL;

-- Movements of refs other than commits, which are the committed entries themselves.
CREATE TABLE ref_moves (
    ws        INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    ts_ms     INTEGER NOT NULL,
    actor     TEXT,
    branch_id INTEGER REFERENCES branches (branch_id) ON DELETE SET NULL,
    ref       TEXT    NOT NULL,
    action    TEXT    NOT NULL,
    previous  TEXT,
    current   TEXT,
    head_seq  INTEGER,
    PRIMARY KEY (ws, seq)
) STRICT;

CREATE INDEX ref_moves_of_branch ON ref_moves (branch_id, seq);

CREATE TABLE tags (
    ws            INTEGER NOT NULL,
    name          TEXT    NOT NULL,
    set_seq       INTEGER NOT NULL,
    entry_seq     INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    until         INTEGER NOT NULL,
    PRIMARY KEY (ws, name, set_seq)
) STRICT;

CREATE TABLE targeting (
    ws          INTEGER NOT NULL PRIMARY KEY,
    checkout_id INTEGER REFERENCES branches (branch_id),
    focus       TEXT
) STRICT;

-- Words of entries and nodes from our own tokenizer; the engines only look them up.
-- only sqlite:
CREATE VIRTUAL TABLE search_words USING fts5 (
    words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);
-- end
-- only postgres:
CREATE TABLE search_words (
    ws    BIGINT   NOT NULL,
    seq   BIGINT   NOT NULL,
    words TSVECTOR NOT NULL,
    PRIMARY KEY (ws, seq)
);
CREATE INDEX search_words_by_word ON search_words USING gin (words) WITH (fastupdate = off);
-- end
