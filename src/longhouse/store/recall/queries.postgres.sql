-- name: block_tails
-- The last block of each of these terms.
-- differs because a list is bound as JSON and unpacked by json_array_elements_text.
SELECT b.term, b.first, b.total, b.postings
FROM json_array_elements_text(CAST(:terms AS JSON)) AS k (value) CROSS JOIN search_blocks b
WHERE b.ws = :ws AND b.term = k.value AND b.first = (
    SELECT MAX(t.first) FROM search_blocks t WHERE t.ws = :ws AND t.term = k.value)

-- name: things_at
-- The things indexed at these seqs.
-- differs because a list is bound as JSON and unpacked by json_array_elements_text.
SELECT t.seq, t.kind, t.key
FROM json_array_elements_text(CAST(:seqs AS JSON)) AS k (value) CROSS JOIN search_things t
WHERE t.ws = :ws AND t.seq = CAST(k.value AS BIGINT) ORDER BY t.seq, t.kind, t.key

-- name: written_at
-- Who wrote at these seqs, and when; a log row accounts for the seqs up to its own.
-- differs because a list is bound as JSON and unpacked by json_array_elements_text.
SELECT CAST(k.value AS BIGINT) AS seq, l.actor, l.ts_ms
FROM json_array_elements_text(CAST(:seqs AS JSON)) AS k (value) CROSS JOIN log l
WHERE l.ws = :ws AND l.seq = (
    SELECT MIN(m.seq) FROM log m WHERE m.ws = :ws AND m.seq >= CAST(k.value AS BIGINT))
