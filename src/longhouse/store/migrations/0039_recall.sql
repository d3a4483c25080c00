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
CREATE VIEW search_words AS SELECT 0 AS rowid, '' AS words WHERE 0;
CREATE TRIGGER search_words_moved INSTEAD OF INSERT ON search_words BEGIN
    SELECT RAISE(ABORT, 'a newer Longhouse has upgraded this store; restart this server with it');
END;
-- end
-- only postgres:
CREATE VIEW search_words AS
SELECT CAST(0 AS BIGINT) AS ws, CAST(0 AS BIGINT) AS seq, CAST('' AS TSVECTOR) AS words WHERE FALSE;
CREATE FUNCTION search_words_moved() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a newer Longhouse has upgraded this store; restart this server with it';
END $$;
CREATE TRIGGER search_words_moved INSTEAD OF INSERT ON search_words
FOR EACH ROW EXECUTE FUNCTION search_words_moved();
-- end
