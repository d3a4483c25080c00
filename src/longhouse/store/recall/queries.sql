-- name: fresh_add
-- Add the terms of a document that is indexed once.
INSERT INTO search_fresh (ws, seq, part, terms) VALUES (:ws, :seq, :part, :terms)

-- name: fresh_put
-- Add the terms of something that may have been indexed at this seq already.
INSERT INTO search_fresh (ws, seq, part, terms) VALUES (:ws, :seq, :part, :terms)
ON CONFLICT (ws, seq, part) DO UPDATE SET terms = excluded.terms

-- name: fresh_count
-- How many documents wait to be folded.
SELECT COUNT(*) AS n FROM search_fresh WHERE ws = :ws

-- name: fresh_first
-- The oldest document that waits to be folded.
SELECT MIN(seq) AS seq FROM search_fresh WHERE ws = :ws

-- name: fresh_all
-- The documents that wait to be folded, oldest first.
SELECT seq, part, terms FROM search_fresh WHERE ws = :ws ORDER BY seq, part

-- name: fresh_clear
-- Delete the documents that were folded.
DELETE FROM search_fresh WHERE ws = :ws

-- name: fresh_drop
-- Delete one document that waits to be folded.
DELETE FROM search_fresh WHERE ws = :ws AND seq = :seq AND part = ''

-- name: blocks_before
-- The newest blocks of a term that start before a seq.
SELECT first, total, postings FROM search_blocks
WHERE ws = :ws AND term = :term AND first < :before ORDER BY first DESC LIMIT :limit

-- name: blocks_between
-- The blocks of a term that may hold a document from `low` to `high`.
SELECT first, total, postings FROM search_blocks
WHERE ws = :ws AND term = :term AND first <= :high AND first >= COALESCE(
    (SELECT MAX(b.first) FROM search_blocks b
     WHERE b.ws = :ws AND b.term = :term AND b.first <= :low), 0)
ORDER BY first

-- name: block_put
-- Store a block.
INSERT INTO search_blocks (ws, term, first, total, postings)
VALUES (:ws, :term, :first, :total, :postings)
ON CONFLICT (ws, term, first) DO UPDATE SET total = excluded.total, postings = excluded.postings

-- name: block_drop
-- Delete a block.
DELETE FROM search_blocks WHERE ws = :ws AND term = :term AND first = :first

-- name: blocks_clear
-- Delete all blocks of a workspace.
DELETE FROM search_blocks WHERE ws = :ws

-- name: terms_from
-- Terms in a range, in order, each once.
SELECT term FROM search_blocks
WHERE ws = :ws AND term >= :low AND term < :high GROUP BY term ORDER BY term LIMIT :limit

-- name: subjects_from
-- The first log rows of subjects of a stream, above a seq.
SELECT l.seq FROM log l WHERE l.ws = :ws AND l.seq > :after AND l.stream = :stream AND l.seq = (
    SELECT MIN(m.seq) FROM log m
    WHERE m.ws = :ws AND m.subject = l.subject AND m.stream = :stream)
ORDER BY l.seq LIMIT :limit

-- name: log_seqs
-- Where the log speaks of a subject.
SELECT seq FROM log WHERE ws = :ws AND subject = :subject AND stream = :stream
ORDER BY seq DESC LIMIT :limit

-- name: state_now
-- How much is indexed, and what is left to do.
SELECT docs, words, todo FROM search_state WHERE ws = :ws

-- name: state_add
-- Count documents that were added.
INSERT INTO search_state (ws, docs, words) VALUES (:ws, :docs, :words)
ON CONFLICT (ws) DO UPDATE SET
    docs = search_state.docs + excluded.docs, words = search_state.words + excluded.words

-- name: state_todo
-- Record how far a rebuild is; null when it is done.
INSERT INTO search_state (ws, docs, words, todo) VALUES (:ws, 0, 0, :todo)
ON CONFLICT (ws) DO UPDATE SET todo = excluded.todo

-- name: state_reset
-- Start over: nothing is indexed.
INSERT INTO search_state (ws, docs, words, todo) VALUES (:ws, 0, 0, :todo)
ON CONFLICT (ws) DO UPDATE SET docs = 0, words = 0, todo = excluded.todo

-- name: terms_alike
-- Terms in a range that are about as long, each once.
SELECT term FROM search_blocks
WHERE ws = :ws AND term >= :low AND term < :high AND LENGTH(term) BETWEEN :short AND :long
GROUP BY term ORDER BY term LIMIT :limit

-- name: has_term
-- Whether any document has a term.
SELECT 1 AS one FROM search_blocks WHERE ws = :ws AND term = :term LIMIT 1
