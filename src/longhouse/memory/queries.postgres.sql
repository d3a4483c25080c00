-- name: words_add
-- Add the words of one entry or node.
-- differs because the words are stored as a tsvector of exactly these lexemes.
INSERT INTO search_words (ws, seq, words)
VALUES (:ws, :seq, array_to_tsvector(string_to_array(CAST(:words AS TEXT), ' ')))

-- name: words_clear
-- Delete all words of a workspace.
-- differs because rows are identified by workspace and seq.
DELETE FROM search_words WHERE ws = :ws

-- name: words_of_branch_delete
-- Delete the words of everything on a branch.
-- differs because rows are identified by workspace and seq.
DELETE FROM search_words WHERE ws = :ws AND seq IN (
    SELECT e.seq FROM doc_entries e WHERE e.branch_id = :branch_id
    UNION ALL
    SELECT v.seq FROM graph_versions v
    WHERE v.kind = 'node' AND v.deleted = 0
      AND v.doc_id IN (SELECT doc_id FROM documents WHERE branch_id = :branch_id)
)

-- name: words_found
-- The newest seqs below a bound whose words match.
-- differs because a tsvector has its own query syntax, and its index is unordered: common words are
-- found by scanning the newest rows, rare words through the index.
WITH near AS MATERIALIZED (
    SELECT seq FROM (
        SELECT seq, words FROM search_words
        WHERE ws = :ws AND seq < :before ORDER BY seq DESC LIMIT 2000
    ) AS newest
    WHERE words @@ CAST(CAST(:tsquery AS TEXT) AS TSQUERY) ORDER BY seq DESC LIMIT :limit
), far AS MATERIALIZED (
    SELECT seq FROM search_words
    WHERE words @@ CAST(CAST(:tsquery AS TEXT) AS TSQUERY) AND ws + 0 = :ws AND seq + 0 < :before
      AND (SELECT COUNT(*) FROM near) < :limit
)
SELECT seq FROM near WHERE (SELECT COUNT(*) FROM near) >= :limit
UNION ALL
SELECT seq FROM far
ORDER BY seq DESC LIMIT :limit
