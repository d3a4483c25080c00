-- name: body_make
-- A new body, which nothing points at yet.
INSERT INTO artifact_bodies (made_ms) VALUES (:now) RETURNING body

-- name: body_renew
-- Keep an unfinished body from being swept; returns no row if it is being removed.
UPDATE artifact_bodies SET made_ms = :now WHERE body = :body AND doomed = 0 RETURNING body

-- name: bodies_doom
-- Mark garbage, so that nothing can point at it any more, and return what is to be removed.
UPDATE artifact_bodies SET doomed = 1
WHERE (doomed = 1 OR made_ms <= :before)
  AND NOT EXISTS (SELECT 1 FROM artifact_blobs AS b WHERE b.body = artifact_bodies.body)
  AND NOT EXISTS (SELECT 1 FROM artifact_logs AS l WHERE l.body = artifact_bodies.body)
RETURNING body

-- name: body_end
-- Where the chunks of a body end.
SELECT COALESCE(MAX(n), -1) AS n FROM artifact_chunks WHERE body = :body

-- name: body_remove
-- Forget a body whose chunks are gone.
DELETE FROM artifact_bodies WHERE body = :body AND doomed = 1

-- name: chunks_remove
-- Remove some chunks.
DELETE FROM artifact_chunks WHERE body = :body AND n >= :first AND n < :after

-- name: chunk_fill
-- Continue the last chunk of a log.
UPDATE artifact_chunks SET data = data || :data WHERE body = :body AND n = :n RETURNING n

-- name: chunks_copy
-- Copy some chunks to another body.
INSERT INTO artifact_chunks (body, n, data)
SELECT CAST(:to AS INTEGER), c.n, c.data FROM artifact_chunks AS c
WHERE c.body = :body AND c.n >= :first AND c.n < :after

-- name: chunks_of
-- The chunks of a body that a range touches.
SELECT data FROM artifact_chunks WHERE body = :body AND n >= :first AND n <= :last ORDER BY n

-- name: chunks_of_blob
-- The same, found by digest.
SELECT c.data FROM artifact_blobs AS b
JOIN artifact_chunks AS c ON c.body = b.body AND c.n >= :first AND c.n <= :last
WHERE b.digest = :digest ORDER BY c.n

-- name: blob_put
-- Make a complete body the bytes of a digest; whatever it had before becomes garbage.
INSERT INTO artifact_blobs (digest, body, size, touched_ms) VALUES (:digest, :body, :size, :now)
ON CONFLICT (digest) DO UPDATE
SET body = excluded.body, size = excluded.size, touched_ms = excluded.touched_ms

-- name: blob_one
-- The size of a blob.
SELECT size FROM artifact_blobs WHERE digest = :digest

-- name: blob_touch
-- Make a blob new.
UPDATE artifact_blobs SET touched_ms = :now WHERE digest = :digest AND touched_ms < :now

-- name: blob_remove
-- Remove a blob, unless it became new; its body becomes garbage.
DELETE FROM artifact_blobs WHERE digest = :digest AND touched_ms <= :since RETURNING body

-- name: blobs_after
-- A page of blobs, by digest.
SELECT digest, size, touched_ms FROM artifact_blobs WHERE digest > :after
ORDER BY digest LIMIT :limit

-- name: log_add
-- Begin a log, unless it exists.
INSERT INTO artifact_logs (name, body, touched_ms) VALUES (:name, :body, :now)
ON CONFLICT (name) DO NOTHING
RETURNING name

-- name: log_lock
-- A log, locked until the transaction ends.
UPDATE artifact_logs SET size = size WHERE name = :name RETURNING *

-- name: log_one
-- A log as it is.
SELECT * FROM artifact_logs WHERE name = :name

-- name: log_set
-- What a log is after a change.
UPDATE artifact_logs
SET body = :body, size = :size, gap_at = :gap_at, gap_bytes = :gap_bytes, gap_lines = :gap_lines,
    shared = :shared, touched_ms = :now
WHERE name = :name

-- name: logs_after
-- A page of logs, by name.
SELECT * FROM artifact_logs WHERE name > :after ORDER BY name LIMIT :limit

-- name: log_remove
-- Remove a log; its body stays if a blob has it.
DELETE FROM artifact_logs WHERE name = :name AND touched_ms <= :since RETURNING name
