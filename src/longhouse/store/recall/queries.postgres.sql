-- name: block_tails
-- The last block of each of these terms.
-- differs because a list is bound as JSON and unpacked by json_array_elements_text.
SELECT b.term, b.first, b.total, b.postings
FROM json_array_elements_text(CAST(:terms AS JSON)) AS k (value) CROSS JOIN search_blocks b
WHERE b.ws = :ws AND b.term = k.value AND b.first = (
    SELECT MAX(t.first) FROM search_blocks t WHERE t.ws = :ws AND t.term = k.value)

-- name: subjects_at
-- The subjects of a stream that the log has at these seqs.
-- differs because a list is bound as JSON and unpacked by json_array_elements_text.
SELECT t.seq, t.subject
FROM json_array_elements_text(CAST(:seqs AS JSON)) AS k (value) CROSS JOIN log t
WHERE t.ws = :ws AND t.seq = CAST(k.value AS BIGINT) AND t.stream = :stream ORDER BY t.seq

-- name: written_at
-- Who wrote at these seqs, and when; a log row accounts for the seqs up to its own.
-- differs because a list is bound as JSON and unpacked by json_array_elements_text.
SELECT CAST(k.value AS BIGINT) AS seq, l.actor, l.ts_ms
FROM json_array_elements_text(CAST(:seqs AS JSON)) AS k (value) CROSS JOIN log l
WHERE l.ws = :ws AND l.seq = (
    SELECT MIN(m.seq) FROM log m WHERE m.ws = :ws AND m.seq >= CAST(k.value AS BIGINT))
