-- name: workspace_seq
-- How far a workspace's sequence is.
SELECT seq FROM workspaces WHERE ws = :ws

-- name: log_span
-- How many rows the log has, and between which seqs.
SELECT COUNT(*) AS count, COALESCE(MIN(seq), 1) AS first, COALESCE(MAX(seq), 0) AS last
FROM log WHERE ws = :ws

-- name: log_gap
-- The first seqs after which one is missing.
SELECT l.seq + 1 AS missing FROM log AS l
WHERE l.ws = :ws AND l.seq < :last
  AND NOT EXISTS (SELECT 1 FROM log AS m WHERE m.ws = l.ws AND m.seq = l.seq + 1)
ORDER BY l.seq LIMIT 3
