-- Thinking: cards are nodes of memory's graphs; these are the indexes to find them, and the anchors.

-- Cards of one type in one state: the open questions of a graph, however large it is.
CREATE INDEX graph_nodes_by_type_and_status ON graph_versions (doc_id, type, status, live, seq)
WHERE kind = 'node' AND deleted = 0 AND live IS NOT NULL AND status IS NOT NULL;

-- A node by its id alone, wherever it is written.
CREATE INDEX graph_nodes_named ON graph_versions (ws, key, seq)
WHERE kind = 'node' AND deleted = 0 AND live = 1;

-- Edges to a node: what supports it, what blocks it.
CREATE INDEX graph_edges_into ON graph_versions (doc_id, to_id, seq)
WHERE kind = 'edge';

-- Nodes with a tag, whichever graph they are in: the cards of an anchor.
CREATE INDEX graph_tags_anywhere ON graph_tags (ws, tag, live, seq);

-- The trace entries of a card; only a pointer, since an entry may have been deleted with its branch.
CREATE TABLE card_entries (
    ws      INTEGER NOT NULL,
    card_id TEXT    NOT NULL,
    seq     INTEGER NOT NULL,
    PRIMARY KEY (ws, card_id, seq)
) STRICT, WITHOUT ROWID;

-- What cites what. For cards only a pointer: the card itself says whether it still cites it.
CREATE TABLE citations (
    ws    INTEGER NOT NULL,
    ref   TEXT    NOT NULL,
    citer TEXT    NOT NULL,
    kind  TEXT    NOT NULL,
    seq   INTEGER NOT NULL,
    PRIMARY KEY (ws, ref, citer)
) STRICT, WITHOUT ROWID;

-- What a receipt refers to, so that a record can list the steps it proves.
ALTER TABLE step_proofs ADD COLUMN ref TEXT;

CREATE INDEX step_proofs_by_ref ON step_proofs (ws, ref) WHERE ref IS NOT NULL;

CREATE TABLE anchors (
    ws            INTEGER NOT NULL,
    anchor_id     TEXT    NOT NULL,
    title         TEXT    NOT NULL,
    kind          TEXT    NOT NULL,
    status        TEXT    NOT NULL,
    description   TEXT,
    refs          TEXT    NOT NULL,
    parent_id     TEXT,
    depends_on    TEXT    NOT NULL,
    created_seq   INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    PRIMARY KEY (ws, anchor_id)
) STRICT, WITHOUT ROWID;

-- Other names of an anchor: its former names, and names that people use for it.
CREATE TABLE anchor_aliases (
    ws        INTEGER NOT NULL,
    alias     TEXT    NOT NULL,
    anchor_id TEXT    NOT NULL,
    PRIMARY KEY (ws, alias),
    FOREIGN KEY (ws, anchor_id) REFERENCES anchors (ws, anchor_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX anchor_aliases_of ON anchor_aliases (ws, anchor_id);
