-- name: artifact_add
-- A row for bytes that are on disk, or for a log that begins to grow.
INSERT INTO artifacts (ws, handle, name, media_type, owner, state, digest, size, stored, cap,
                       created_at_ms, sealed_at_ms, expires_at_ms, created_seq, last_seq)
VALUES (:ws, :handle, :name, :media_type, :owner, :state, :digest, :size, :size, :cap,
        :now, :sealed, :expires, :seq, :seq)
RETURNING *

-- name: artifact_seal
-- A log ends, once.
UPDATE artifacts
SET state = 'sealed', digest = :digest, size = :size, stored = :stored, gap_at = :gap_at,
    gap_bytes = :gap_bytes, gap_lines = :gap_lines, sealed_at_ms = :now, last_seq = :seq
WHERE ws = :ws AND handle = :handle AND state = 'growing'
RETURNING *

-- name: artifact_by_handle
-- One artifact by the handle it was given.
SELECT * FROM artifacts WHERE ws = :ws AND handle = :handle

-- name: artifacts_by_digest
-- Those whose digest begins like this, oldest first.
SELECT * FROM artifacts
WHERE ws = :ws AND digest >= :low AND digest <= :high
ORDER BY digest, created_seq LIMIT :limit

-- name: artifact_same
-- An artifact of the same bytes under the same name for the same owner: storing it again is it.
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
-- Keep it longer; never shorter.
UPDATE artifacts SET expires_at_ms = CAST(:expires AS INTEGER), last_seq = :seq
WHERE ws = :ws AND handle = :handle AND expires_at_ms IS NOT NULL
  AND (CAST(:expires AS INTEGER) IS NULL OR expires_at_ms < CAST(:expires AS INTEGER))
RETURNING *

-- name: artifacts_expired
-- What may go unless a room still refers to it.
SELECT * FROM artifacts
WHERE ws = :ws AND state = 'sealed' AND expires_at_ms <= :now
ORDER BY expires_at_ms, handle

-- name: artifact_remove
-- The row goes; its bytes follow when no other row has them.
DELETE FROM artifacts WHERE ws = :ws AND handle = :handle AND state = 'sealed'
RETURNING stored

-- name: artifacts_growing
-- Logs that have not been sealed.
SELECT * FROM artifacts WHERE ws = :ws AND state = 'growing' ORDER BY created_seq

-- name: digest_is_used
-- Whether any workspace has these bytes.
SELECT 1 AS used FROM artifacts WHERE digest = :digest LIMIT 1

-- name: artifacts_stored
-- What every artifact of a workspace has on disk, by digest.
SELECT DISTINCT digest, stored FROM artifacts WHERE ws = :ws AND digest > :after
ORDER BY digest LIMIT :limit

-- name: token_is_dead
-- Whether the token of this digest was one of ours and has been revoked.
SELECT 1 AS dead FROM tokens WHERE digest = :digest AND revoked_at_ms IS NOT NULL

-- name: usage_take
-- Count bytes against the quota; nothing comes back when it would be over.
INSERT INTO artifact_usage (ws, bytes)
SELECT CAST(:ws AS INTEGER), CAST(:bytes AS INTEGER)
WHERE CAST(:bytes AS INTEGER) <= CAST(:quota AS INTEGER)
ON CONFLICT (ws) DO UPDATE SET bytes = artifact_usage.bytes + excluded.bytes
WHERE artifact_usage.bytes + excluded.bytes <= CAST(:quota AS INTEGER)
RETURNING bytes

-- name: usage_give
-- Count bytes back.
UPDATE artifact_usage SET bytes = bytes - :bytes WHERE ws = :ws

-- name: usage_now
-- How much of the quota is used.
SELECT bytes FROM artifact_usage WHERE ws = :ws

-- name: usage_counted
-- The same, counted from the rows.
SELECT COALESCE(SUM(stored), 0) AS bytes FROM artifacts WHERE ws = :ws

-- name: usage_recount
-- Set what is used to what the rows say.
INSERT INTO artifact_usage (ws, bytes)
SELECT CAST(:ws AS INTEGER), COALESCE(SUM(stored), 0) FROM artifacts WHERE ws = :ws
ON CONFLICT (ws) DO UPDATE SET bytes = excluded.bytes
