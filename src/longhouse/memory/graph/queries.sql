-- name: nodes_listed
-- Nodes of one source, newest first: its newest versions and those kept for a snapshot.
SELECT seq, ts_ms, kind, key, type, title, text, status, tags, from_id, rel, to_id, meta, deleted,
    until FROM (
    SELECT * FROM graph_versions
    WHERE doc_id = :doc_id AND kind = 'node' AND deleted = 0 AND live = 1
      AND seq < :before
    ORDER BY seq DESC LIMIT :limit
) AS newest
UNION ALL
SELECT seq, ts_ms, kind, key, type, title, text, status, tags, from_id, rel, to_id, meta, deleted,
    until FROM (
    SELECT * FROM graph_versions
    WHERE doc_id = :doc_id AND kind = 'node' AND deleted = 0 AND live = 0
      AND seq < :before AND until > :cut AND CAST(:pinned AS INTEGER) = 1
    ORDER BY seq DESC LIMIT :limit
) AS kept
ORDER BY 1 DESC LIMIT :limit

-- name: nodes_of_type
-- The same, of one type.
SELECT seq, ts_ms, kind, key, type, title, text, status, tags, from_id, rel, to_id, meta, deleted,
    until FROM (
    SELECT * FROM graph_versions
    WHERE doc_id = :doc_id AND type = :value AND kind = 'node' AND deleted = 0 AND live = 1
      AND seq < :before
    ORDER BY seq DESC LIMIT :limit
) AS newest
UNION ALL
SELECT seq, ts_ms, kind, key, type, title, text, status, tags, from_id, rel, to_id, meta, deleted,
    until FROM (
    SELECT * FROM graph_versions
    WHERE doc_id = :doc_id AND type = :value AND kind = 'node' AND deleted = 0 AND live = 0
      AND seq < :before AND until > :cut AND CAST(:pinned AS INTEGER) = 1
    ORDER BY seq DESC LIMIT :limit
) AS kept
ORDER BY 1 DESC LIMIT :limit

-- name: nodes_of_status
-- The same, of one status.
SELECT seq, ts_ms, kind, key, type, title, text, status, tags, from_id, rel, to_id, meta, deleted,
    until FROM (
    SELECT * FROM graph_versions
    WHERE doc_id = :doc_id AND status = :value AND kind = 'node' AND deleted = 0 AND live = 1
      AND seq < :before
    ORDER BY seq DESC LIMIT :limit
) AS newest
UNION ALL
SELECT seq, ts_ms, kind, key, type, title, text, status, tags, from_id, rel, to_id, meta, deleted,
    until FROM (
    SELECT * FROM graph_versions
    WHERE doc_id = :doc_id AND status = :value AND kind = 'node' AND deleted = 0 AND live = 0
      AND seq < :before AND until > :cut AND CAST(:pinned AS INTEGER) = 1
    ORDER BY seq DESC LIMIT :limit
) AS kept
ORDER BY 1 DESC LIMIT :limit

-- name: nodes_of_type_and_status
-- The same, of one type and status.
SELECT seq, ts_ms, kind, key, type, title, text, status, tags, from_id, rel, to_id, meta, deleted,
    until FROM (
    SELECT * FROM graph_versions
    WHERE doc_id = :doc_id AND type = :value AND status = :status AND kind = 'node' AND deleted = 0
      AND live = 1 AND seq < :before
    ORDER BY seq DESC LIMIT :limit
) AS newest
UNION ALL
SELECT seq, ts_ms, kind, key, type, title, text, status, tags, from_id, rel, to_id, meta, deleted,
    until FROM (
    SELECT * FROM graph_versions
    WHERE doc_id = :doc_id AND type = :value AND status = :status AND kind = 'node' AND deleted = 0
      AND live = 0 AND seq < :before AND until > :cut AND CAST(:pinned AS INTEGER) = 1
    ORDER BY seq DESC LIMIT :limit
) AS kept
ORDER BY 1 DESC LIMIT :limit

-- name: nodes_of_tag
-- The same, with one tag.
SELECT v.seq, v.ts_ms, v.kind, v.key, v.type, v.title, v.text, v.status, v.tags, v.from_id, v.rel,
    v.to_id, v.meta, v.deleted, v.until
FROM (
    SELECT * FROM (
        SELECT seq AS tagged FROM graph_tags
        WHERE doc_id = :doc_id AND tag = :value AND live = 1 AND seq < :before
        ORDER BY seq DESC LIMIT :limit
    ) AS newest
    UNION ALL
    SELECT * FROM (
        SELECT t.seq AS tagged FROM graph_tags t
        JOIN graph_versions k ON k.ws = :ws AND k.seq = t.seq
        WHERE t.doc_id = :doc_id AND t.tag = :value AND t.live = 0 AND t.seq < :before
          AND k.until > :cut AND CAST(:pinned AS INTEGER) = 1
        ORDER BY t.seq DESC LIMIT :limit
    ) AS kept
) AS found
JOIN graph_versions v ON v.ws = :ws AND v.seq = found.tagged
ORDER BY 1 DESC LIMIT :limit

-- name: nodes_of_time
-- Nodes of one source as of a past seq, newest first, read from the whole history.
SELECT seq, ts_ms, kind, key, type, title, text, status, tags, from_id, rel, to_id, meta, deleted,
    until FROM graph_versions
WHERE doc_id = :doc_id AND kind = 'node' AND deleted = 0 AND seq < :before AND until > :cut
ORDER BY seq DESC LIMIT :limit

-- name: nodes_named
-- The nodes with an id, on any branch, newest first.
SELECT v.seq, v.ts_ms, v.kind, v.key, v.type, v.title, v.text, v.status, v.tags, v.from_id, v.rel,
    v.to_id, v.meta, v.deleted, v.until, d.doc, b.name AS branch
FROM graph_versions v
JOIN documents d ON d.doc_id = v.doc_id
JOIN branches b ON b.branch_id = d.branch_id
WHERE v.ws = :ws AND v.key = :key AND v.kind = 'node' AND v.deleted = 0 AND v.live = 1
ORDER BY v.seq DESC LIMIT :limit

-- name: nodes_tagged
-- Nodes with a tag, in any graph, newest first.
SELECT v.seq, v.ts_ms, v.kind, v.key, v.type, v.title, v.text, v.status, v.tags, v.from_id, v.rel,
    v.to_id, v.meta, v.deleted, v.until, d.doc, b.name AS branch
FROM (
    SELECT seq FROM graph_tags
    WHERE ws = :ws AND tag = :tag AND live = 1 AND seq < :before
    ORDER BY seq DESC LIMIT :limit
) AS tagged
JOIN graph_versions v ON v.ws = :ws AND v.seq = tagged.seq
JOIN documents d ON d.doc_id = v.doc_id
JOIN branches b ON b.branch_id = d.branch_id
ORDER BY v.seq DESC

-- name: keys_seen
-- The keys of one source that exist at a cut, newest first.
SELECT seq, key, from_id, to_id FROM graph_versions
WHERE doc_id = :doc_id AND kind = :kind AND deleted = 0 AND seq < :before AND until > :cut
ORDER BY seq DESC LIMIT :limit

-- name: versions_between
-- The versions between two seqs that one source shows, including tombstones, newest first.
SELECT seq, ts_ms, kind, key, type, title, text, status, tags, from_id, rel, to_id, meta, deleted,
    until FROM graph_versions
WHERE doc_id = :doc_id AND seq > :after AND seq < :before AND until > :cut
ORDER BY seq DESC LIMIT :limit

-- name: version_add
-- Add a version.
INSERT INTO graph_versions
    (ws, seq, doc_id, ts_ms, kind, key, type, title, text, status, tags, from_id, rel, to_id, meta,
     deleted, until, live)
VALUES
    (:ws, :seq, :doc_id, :ts_ms, :kind, :key, :type, :title, :text, :status, :tags, :from_id, :rel,
     :to_id, :meta, :deleted, :until, :live)

-- name: version_end
-- End a replaced version; it stays in the indexes if a derived branch shows it.
UPDATE graph_versions SET until = :until, live = CAST(:live AS INTEGER)
WHERE ws = :ws AND seq = :seq

-- name: tag_add
-- Add a tag of a node's version.
INSERT INTO graph_tags (ws, doc_id, seq, tag, live) VALUES (:ws, :doc_id, :seq, :tag, 1)

-- name: tags_keep
-- Keep the tags of a replaced version that a derived branch shows.
UPDATE graph_tags SET live = 0 WHERE ws = :ws AND doc_id = :doc_id AND seq = :seq

-- name: tags_drop
-- Drop the tags of a replaced version that no branch shows.
DELETE FROM graph_tags WHERE ws = :ws AND doc_id = :doc_id AND seq = :seq

-- name: newest_cutoff
-- The newest branching point on a branch; versions visible at it are kept.
SELECT MAX(base_seq) AS cutoff FROM branches WHERE base_branch_id = :branch_id

-- name: merge_base_set
-- Make this version the base for later merges of the key.
INSERT INTO graph_merge_bases (ws, doc_id, key, merged_seq)
VALUES (:ws, :doc_id, :key, :seq)
ON CONFLICT (ws, doc_id, key) DO UPDATE SET merged_seq = excluded.merged_seq

-- name: conflict_add
-- Add a conflict; nothing if this incoming version already has one.
INSERT INTO graph_conflicts
    (ws, conflict_id, from_id, into_id, doc, kind, key, base_seq, theirs_seq, ours_seq,
     created_seq, created_at_ms)
VALUES
    (:ws, :conflict_id, :from_id, :into_id, :doc, :kind, :key, :base_seq, :theirs_seq, :ours_seq,
     :seq, :now)
ON CONFLICT (ws, conflict_id) DO NOTHING
RETURNING conflict_id

-- name: conflict_by_id
-- One conflict with the names of its branches.
SELECT c.*, f.name AS from_name, i.name AS into_name
FROM graph_conflicts c
JOIN branches f ON f.branch_id = c.from_id
JOIN branches i ON i.branch_id = c.into_id
WHERE c.ws = :ws AND c.conflict_id = :conflict_id

-- name: conflict_resolve
-- Resolve an open conflict; returns the row or nothing.
UPDATE graph_conflicts
SET resolution = :resolution, resolved_seq = :seq, resolved_at_ms = :now
WHERE ws = :ws AND conflict_id = :conflict_id AND resolved_seq IS NULL
RETURNING conflict_id

-- name: conflicts_open_of_key
-- Open conflicts on one key with changes from one branch.
SELECT conflict_id FROM graph_conflicts
WHERE from_id = :from_id AND doc = :doc AND key = :key AND resolved_seq IS NULL
  AND conflict_id <> :but
ORDER BY created_seq

-- name: conflicts_listed
-- Conflicts of merges into a branch as of a seq, newest first.
SELECT c.conflict_id, c.kind, c.key, c.created_seq, c.created_at_ms, c.resolved_seq,
    f.name AS from_name
FROM graph_conflicts c JOIN branches f ON f.branch_id = c.from_id
WHERE c.into_id = :into_id AND c.doc = :doc AND c.created_seq < :before
  AND (CAST(:status AS TEXT) = 'any'
       OR (CAST(:status AS TEXT) = 'open' AND (c.resolved_seq IS NULL OR c.resolved_seq > :cut))
       OR (CAST(:status AS TEXT) = 'resolved' AND c.resolved_seq <= :cut))
ORDER BY c.created_seq DESC, c.conflict_id LIMIT :limit

-- name: conflicts_open
-- Open conflicts of merges into a branch, newest first.
SELECT c.conflict_id, c.kind, c.key, c.created_seq, c.created_at_ms, c.resolved_seq,
    f.name AS from_name
FROM graph_conflicts c JOIN branches f ON f.branch_id = c.from_id
WHERE c.into_id = :into_id AND c.doc = :doc AND c.created_seq < :before AND c.resolved_seq IS NULL
ORDER BY c.created_seq DESC, c.conflict_id LIMIT :limit
