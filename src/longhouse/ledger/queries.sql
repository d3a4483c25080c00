-- name: subagent_add
-- A subagent that is about to start.
INSERT INTO subagents
    (ws, n, dispatch_id, parent_id, session_id, depth, params, snapshot_digest, snapshot, status,
     started_at_ms, lease_expires_at_ms, created_seq, last_seq)
VALUES
    (:ws, :n, :dispatch_id, :parent_id, :session_id, :depth, :params, :snapshot_digest, :snapshot,
     'running', :now, :expires, :seq, :seq)
RETURNING *

-- name: subagent_of
-- The subagent of one dispatch.
SELECT * FROM subagents WHERE ws = :ws AND dispatch_id = :dispatch_id

-- name: subagent_one
-- One subagent.
SELECT * FROM subagents WHERE ws = :ws AND n = :n

-- name: subagent_renew
-- Renew the lease of a running subagent; a renewal is not an event.
UPDATE subagents SET lease_expires_at_ms = :expires
WHERE ws = :ws AND dispatch_id = :dispatch_id AND status = 'running'
RETURNING *

-- name: subagent_resume
-- Set one that was presumed interrupted back to running.
UPDATE subagents SET status = 'running', presumed = 0, finished_at_ms = NULL,
    lease_expires_at_ms = :expires, last_seq = :seq
WHERE ws = :ws AND dispatch_id = :dispatch_id AND presumed = 1
RETURNING *

-- name: subagent_end
-- End one that is running or presumed interrupted.
UPDATE subagents SET status = :status, presumed = 0, message = :message, error_type = :error_type,
    tools = :tools, usage = :usage, artifacts = :artifacts,
    missing_artifacts = :missing_artifacts, finished_at_ms = :now, last_seq = :seq
WHERE ws = :ws AND dispatch_id = :dispatch_id AND (status = 'running' OR presumed = 1)
RETURNING *

-- name: subagents_lapsed
-- Running subagents whose lease has expired, oldest first.
SELECT n, dispatch_id, lease_expires_at_ms FROM subagents
WHERE ws = :ws AND status = 'running' AND lease_expires_at_ms <= :now
ORDER BY lease_expires_at_ms LIMIT :limit

-- name: subagent_interrupt
-- Record that a lease has expired, unless it has been renewed in the meantime.
UPDATE subagents SET status = 'interrupted', presumed = 1, finished_at_ms = lease_expires_at_ms,
    last_seq = :seq
WHERE ws = :ws AND n = :n AND status = 'running' AND lease_expires_at_ms <= :now
RETURNING *

-- name: subagents_newest
-- A page, newest first.
SELECT * FROM subagents WHERE ws = :ws AND n < :before ORDER BY n DESC LIMIT :limit

-- name: subagents_of_status
-- A page of those with one outcome, newest first.
SELECT * FROM subagents WHERE ws = :ws AND status = :status AND n < :before
ORDER BY n DESC LIMIT :limit

-- name: subagents_running
-- A page of running subagents with a live lease, newest first.
SELECT * FROM subagents
WHERE ws = :ws AND status = 'running' AND n < :before AND lease_expires_at_ms > :now
ORDER BY n DESC LIMIT :limit

-- name: subagents_interrupted
-- A page of interrupted subagents, recorded as such or not, newest first.
SELECT * FROM subagents
WHERE ws = :ws AND n < :before
  AND (status = 'interrupted' OR (status = 'running' AND lease_expires_at_ms <= :now))
ORDER BY n DESC LIMIT :limit

-- name: subagents_of_parent
-- A page of the subagents that one subagent dispatched, newest first.
SELECT * FROM subagents
WHERE ws = :ws AND parent_id = :parent_id AND n < :before
  AND (CAST(:session_id AS TEXT) IS NULL OR session_id = :session_id)
  AND (CAST(:status AS TEXT) IS NULL OR :status = CASE
      WHEN status = 'running' AND lease_expires_at_ms <= :now THEN 'interrupted'
      ELSE status END)
ORDER BY n DESC LIMIT :limit

-- name: subagents_of_session
-- A page of the subagents of one session, newest first.
SELECT * FROM subagents
WHERE ws = :ws AND session_id = :session_id AND n < :before
  AND (CAST(:status AS TEXT) IS NULL OR :status = CASE
      WHEN status = 'running' AND lease_expires_at_ms <= :now THEN 'interrupted'
      ELSE status END)
ORDER BY n DESC LIMIT :limit

-- name: subagents_snapshots
-- The digests of the artifacts that hold the snapshots subagents started from.
SELECT snapshot FROM subagents WHERE ws = :ws AND snapshot IS NOT NULL

-- name: leases_clamp
-- Shorten leases that were taken under a clock that was ahead.
UPDATE subagents SET lease_expires_at_ms = :longest
WHERE ws = :ws AND status = 'running' AND lease_expires_at_ms > :longest
