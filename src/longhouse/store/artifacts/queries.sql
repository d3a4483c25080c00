-- name: artifact_add
-- Add a row for bytes on disk, or for a log that is about to grow.
INSERT INTO artifacts (ws, handle, name, media_type, owner, state, digest, size, stored, cap,
                       created_at_ms, sealed_at_ms, expires_at_ms, created_seq, last_seq)
VALUES (:ws, :handle, :name, :media_type, :owner, :state, :digest, :size, :size, :cap,
        :now, :sealed, :expires, :seq, :seq)
RETURNING *

-- name: artifact_seal
-- Seal a log, once.
UPDATE artifacts
SET state = 'sealed', digest = :digest, size = :size, stored = :stored, gap_at = :gap_at,
    gap_bytes = :gap_bytes, gap_lines = :gap_lines, sealed_at_ms = :now, last_seq = :seq
WHERE ws = :ws AND handle = :handle AND state = 'growing'
RETURNING *

-- name: artifact_by_handle
-- One artifact by its handle.
SELECT * FROM artifacts WHERE ws = :ws AND handle = :handle

-- name: artifacts_by_digest
-- Artifacts by digest prefix, oldest first.
SELECT * FROM artifacts
WHERE ws = :ws AND digest >= :low AND digest <= :high
ORDER BY digest, created_seq LIMIT :limit

-- name: artifact_same
-- The artifact with the same bytes, name and owner, so that storing it again adds nothing.
SELECT * FROM artifacts
WHERE ws = :ws AND digest = :digest AND name = :name
  AND COALESCE(owner, '') = COALESCE(CAST(:owner AS TEXT), '')
ORDER BY created_seq LIMIT 1

-- name: artifacts_before
-- A page of the list, newest first.
SELECT * FROM artifacts
WHERE ws = :ws AND created_seq < :before
  AND (CAST(:owner AS TEXT) IS NULL OR owner = CAST(:owner AS TEXT))
ORDER BY created_seq DESC LIMIT :limit

-- name: artifact_prolong
-- Extend an artifact's lifetime; never shortens it.
UPDATE artifacts SET expires_at_ms = CAST(:expires AS INTEGER), last_seq = :seq
WHERE ws = :ws AND handle = :handle AND expires_at_ms IS NOT NULL
  AND (CAST(:expires AS INTEGER) IS NULL OR expires_at_ms < CAST(:expires AS INTEGER))
RETURNING *

-- name: artifacts_expired
-- Expired artifacts, which may be removed unless a room refers to them.
SELECT * FROM artifacts
WHERE ws = :ws AND state = 'sealed' AND expires_at_ms <= :now
ORDER BY expires_at_ms, handle

-- name: artifact_remove
-- Remove a row; the sweep removes its bytes when no other row has them.
DELETE FROM artifacts WHERE ws = :ws AND handle = :handle AND state = 'sealed'
RETURNING stored

-- name: artifacts_growing
-- Logs that have not been sealed.
SELECT * FROM artifacts WHERE ws = :ws AND state = 'growing' ORDER BY created_seq

-- name: digest_is_used
-- Whether any workspace has these bytes.
SELECT 1 AS used FROM artifacts WHERE digest = :digest LIMIT 1

-- name: digests_used
-- Which digests of a range any workspace has.
SELECT DISTINCT digest FROM artifacts WHERE digest >= :low AND digest <= :high

-- name: artifacts_stored
-- The stored size of every artifact of a workspace, by digest.
SELECT DISTINCT digest, stored FROM artifacts WHERE ws = :ws AND digest > :after
ORDER BY digest LIMIT :limit

-- name: token_is_dead
-- Whether the token with this digest is known and has been revoked.
SELECT 1 AS dead FROM tokens WHERE digest = :digest AND revoked_at_ms IS NOT NULL

-- name: usage_take
-- Count bytes against the quota; returns no row if that would exceed it.
INSERT INTO artifact_usage (ws, bytes)
SELECT CAST(:ws AS INTEGER), CAST(:bytes AS INTEGER)
WHERE CAST(:bytes AS INTEGER) <= CAST(:quota AS INTEGER)
ON CONFLICT (ws) DO UPDATE SET bytes = artifact_usage.bytes + excluded.bytes
WHERE artifact_usage.bytes + excluded.bytes <= CAST(:quota AS INTEGER)
RETURNING bytes

-- name: usage_give
-- Return bytes to the quota.
UPDATE artifact_usage SET bytes = bytes - :bytes WHERE ws = :ws

-- name: usage_now
-- How much of the quota is used.
SELECT bytes FROM artifact_usage WHERE ws = :ws

-- name: usage_counted
-- The same, counted from the rows.
SELECT COALESCE(SUM(stored), 0) AS bytes FROM artifacts WHERE ws = :ws

-- name: usage_recount
-- Recompute the usage from the rows.
INSERT INTO artifact_usage (ws, bytes)
SELECT CAST(:ws AS INTEGER), COALESCE(SUM(stored), 0) FROM artifacts WHERE ws = :ws
ON CONFLICT (ws) DO UPDATE SET bytes = excluded.bytes

-- name: artifacts_from
-- Where artifacts were added whole, above a seq, for indexing: a log that grew is not one of them.
SELECT a.created_seq FROM artifacts AS a JOIN log AS l ON l.ws = a.ws AND l.seq = a.created_seq
WHERE a.ws = :ws AND a.created_seq > :after AND l.kind = 'added'
ORDER BY a.created_seq LIMIT :limit

-- name: artifact_added
-- An artifact that was added whole.
SELECT a.* FROM artifacts AS a JOIN log AS l ON l.ws = a.ws AND l.seq = a.created_seq
WHERE a.ws = :ws AND a.handle = :handle AND l.kind = 'added'
