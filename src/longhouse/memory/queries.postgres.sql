-- name: entries_at
-- The searchable entries at these seqs, also those of deleted branches.
-- differs because a list is bound as JSON and unpacked by json_array_elements_text.
SELECT e.seq, e.ts_ms, e.kind, e.title, e.content, e.meta, e.origin_seq, e.doc_id, d.doc,
    b.name AS branch
FROM json_array_elements_text(CAST(:seqs AS JSON)) AS k (value) CROSS JOIN doc_entries e
JOIN documents d ON d.doc_id = e.doc_id
JOIN branches b ON b.branch_id = d.branch_id
WHERE e.ws = :ws AND e.seq = CAST(k.value AS BIGINT)
  AND (e.format IS NULL OR e.format NOT IN ('task_event', 'think_card'))

-- name: node_versions_at
-- The node versions at these seqs, also those of deleted branches.
-- differs because a list is bound as JSON and unpacked by json_array_elements_text.
SELECT v.seq, v.ts_ms, v.kind, v.key, v.type, v.title, v.text, v.status, v.tags, v.meta, v.until,
    v.doc_id, d.doc, b.name AS branch
FROM json_array_elements_text(CAST(:seqs AS JSON)) AS k (value) CROSS JOIN graph_versions v
JOIN documents d ON d.doc_id = v.doc_id
JOIN branches b ON b.branch_id = d.branch_id
WHERE v.ws = :ws AND v.seq = CAST(k.value AS BIGINT) AND v.kind = 'node' AND v.deleted = 0
