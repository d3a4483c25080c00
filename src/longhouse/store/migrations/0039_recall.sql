-- Search is ranked: an index of our own, with how often each word occurs, alike on both databases.

-- Documents that were written since the last fold, each with its terms.
CREATE TABLE search_fresh (
    ws    INTEGER NOT NULL,
    seq   INTEGER NOT NULL,
    part  TEXT    NOT NULL,
    terms BLOB    NOT NULL,
    PRIMARY KEY (ws, seq, part)
) STRICT, WITHOUT ROWID;

-- The documents of a term, in blocks by seq; `total` counts them up to the end of the block.
CREATE TABLE search_blocks (
    ws       INTEGER NOT NULL,
    term     TEXT    NOT NULL,
    first    INTEGER NOT NULL,
    total    INTEGER NOT NULL,
    postings BLOB    NOT NULL,
    PRIMARY KEY (ws, term, first)
) STRICT, WITHOUT ROWID;

-- How much is indexed; `todo` says where to go on if not everything is.
CREATE TABLE search_state (
    ws    INTEGER NOT NULL PRIMARY KEY,
    docs  INTEGER NOT NULL,
    words INTEGER NOT NULL,
    todo  TEXT
) STRICT;
INSERT INTO search_state (ws, docs, words, todo) SELECT ws, 0, 0, '{}' FROM workspaces;

-- A server of an older version must not go on writing words where nobody looks for them.
DROP TABLE search_words;
-- only sqlite:
CREATE TABLE search_words (
    words TEXT,
    CONSTRAINT "a newer Longhouse has upgraded this store" CHECK (1 = 0)
) STRICT;
-- end
-- only postgres:
CREATE TABLE search_words (
    ws    BIGINT,
    seq   BIGINT,
    words TSVECTOR,
    CONSTRAINT "a newer Longhouse has upgraded this store" CHECK (1 = 0)
);
-- end
