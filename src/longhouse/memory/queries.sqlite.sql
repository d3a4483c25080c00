-- name: words_add
-- Add the words of one entry or node.
-- differs because a full-text row has one id: the workspace in its high bits, then the seq.
INSERT INTO search_words (rowid, words) VALUES (:ws * 1099511627776 + :seq, :words)

-- name: words_clear
-- Delete all words of a workspace.
-- differs because full-text rows are identified by their id alone.
DELETE FROM search_words
WHERE rowid >= :ws * 1099511627776 AND rowid < (:ws + 1) * 1099511627776

-- name: words_of_branch_delete
-- Delete the words of everything on a branch.
-- differs because full-text rows are identified by their id alone.
DELETE FROM search_words WHERE rowid IN (
    SELECT :ws * 1099511627776 + e.seq FROM doc_entries e WHERE e.branch_id = :branch_id
    UNION ALL
    SELECT :ws * 1099511627776 + v.seq FROM graph_versions v
    WHERE v.kind = 'node' AND v.deleted = 0
      AND v.doc_id IN (SELECT doc_id FROM documents WHERE branch_id = :branch_id)
)

-- name: words_found
-- The newest seqs below a bound whose words match.
-- differs because FTS5 has its own query syntax.
SELECT rowid - :ws * 1099511627776 AS seq FROM search_words
WHERE search_words MATCH :fts5
  AND rowid > :ws * 1099511627776 AND rowid < :ws * 1099511627776 + :before
ORDER BY rowid DESC LIMIT :limit
