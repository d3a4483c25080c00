-- name: latest_of_keys
-- The newest version of each key that one source shows at a cut, including tombstones.
-- differs because a list is bound as JSON and unpacked by json_each.
SELECT v.seq, v.ts_ms, v.kind, v.key, v.type, v.title, v.text, v.status, v.tags, v.from_id, v.rel,
    v.to_id, v.meta, v.deleted, v.until
FROM json_each(:keys) AS k CROSS JOIN graph_versions v
WHERE v.doc_id = :doc_id AND v.key = k.value AND v.seq = (
    SELECT MAX(m.seq) FROM graph_versions m
    WHERE m.doc_id = :doc_id AND m.key = k.value AND m.seq <= :cut
)

-- name: first_of_keys
-- Where each key was first written in each of these documents.
-- differs because a list is bound as JSON and unpacked by json_each.
SELECT doc_id, key, first_seq FROM (
    SELECT d.value AS doc_id, k.value AS key, (
        SELECT MIN(m.seq) FROM graph_versions m
        WHERE m.doc_id = d.value AND m.key = k.value
    ) AS first_seq
    FROM json_each(:docs) AS d CROSS JOIN json_each(:keys) AS k
) AS written
WHERE first_seq IS NOT NULL

-- name: edges_from
-- Edges that leave these nodes, as one source shows them at a cut, including tombstones.
-- differs because a list is bound as JSON and unpacked by json_each.
SELECT v.seq, v.ts_ms, v.kind, v.key, v.type, v.title, v.text, v.status, v.tags, v.from_id, v.rel,
    v.to_id, v.meta, v.deleted, v.until
FROM json_each(:ids) AS k CROSS JOIN graph_versions v
WHERE v.doc_id = :doc_id AND v.kind = 'edge' AND v.from_id = k.value
  AND v.seq + 0 <= :cut AND v.until > :cut
LIMIT :limit

-- name: edges_into
-- Edges that lead to these nodes, as one source shows them at a cut, including tombstones.
-- differs because a list is bound as JSON and unpacked by json_each.
SELECT v.seq, v.ts_ms, v.kind, v.key, v.type, v.title, v.text, v.status, v.tags, v.from_id, v.rel,
    v.to_id, v.meta, v.deleted, v.until
FROM json_each(:ids) AS k CROSS JOIN graph_versions v
WHERE v.doc_id = :doc_id AND v.kind = 'edge' AND v.to_id = k.value
  AND v.seq + 0 <= :cut AND v.until > :cut
LIMIT :limit

-- name: edges_between
-- Edges from these nodes to these nodes, as one source shows them at a cut, including tombstones.
-- differs because a list is bound as JSON and unpacked by json_each.
SELECT v.seq, v.ts_ms, v.kind, v.key, v.type, v.title, v.text, v.status, v.tags, v.from_id, v.rel,
    v.to_id, v.meta, v.deleted, v.until
FROM json_each(:ids) AS k CROSS JOIN json_each(:ids) AS t CROSS JOIN graph_versions v
WHERE v.doc_id = :doc_id AND v.kind = 'edge' AND v.from_id = k.value
  AND v.to_id = t.value AND v.seq + 0 <= :cut AND v.until > :cut

-- name: merge_bases_of
-- How far these keys of a branch were merged back, as the versions that were taken.
-- differs because a list is bound as JSON and unpacked by json_each.
SELECT v.seq, v.ts_ms, v.kind, v.key, v.type, v.title, v.text, v.status, v.tags, v.from_id, v.rel,
    v.to_id, v.meta, v.deleted, v.until
FROM json_each(:keys) AS k CROSS JOIN graph_merge_bases b CROSS JOIN graph_versions v
WHERE b.ws = :ws AND b.doc_id = :doc_id AND b.key = k.value AND v.ws = :ws AND v.seq = b.merged_seq

-- name: nodes_at
-- The nodes of one source at these seqs that it shows at a cut.
-- differs because a list is bound as JSON and unpacked by json_each.
SELECT v.seq, v.ts_ms, v.kind, v.key, v.type, v.title, v.text, v.status, v.tags, v.from_id,
    v.rel, v.to_id, v.meta, v.deleted, v.until
FROM json_each(:seqs) AS k CROSS JOIN graph_versions v
WHERE v.ws = :ws AND v.seq = k.value AND v.doc_id = :doc_id AND v.kind = 'node' AND v.deleted = 0
  AND v.until > :cut
