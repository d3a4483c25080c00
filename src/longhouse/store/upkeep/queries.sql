-- name: workspace_seq
-- The last seq of a workspace.
SELECT seq FROM workspaces WHERE ws = :ws

-- name: log_span
-- How many seqs the log accounts for, the first and the last.
SELECT COALESCE(SUM(span), 0) AS count, COALESCE(MIN(seq - span + 1), 1) AS first,
    COALESCE(MAX(seq), 0) AS last
FROM log WHERE ws = :ws

-- name: log_gap
-- The first rows that do not directly follow the row before them.
SELECT l.seq - l.span AS missing FROM log AS l
WHERE l.ws = :ws AND l.seq > l.span
  AND NOT EXISTS (SELECT 1 FROM log AS m WHERE m.ws = l.ws AND m.seq = l.seq - l.span)
ORDER BY l.seq LIMIT 3

-- name: keys_forget
-- Answers to retries that were made elsewhere: here, such a key has never been used.
DELETE FROM idempotency WHERE ws = :ws

-- name: tokens_revoke
-- No token of another store opens this one.
UPDATE tokens SET revoked_at_ms = :now WHERE revoked_at_ms IS NULL
RETURNING token_id, name

-- name: unhurried
-- Lift the limit on how long this transaction may wait between two statements.
SELECT '0' AS seconds
