-- name: workspace_lock
-- differs because the row lock is what serializes the writers of one workspace, and the log is read
-- under it, in a statement of its own.
SELECT ws, seq, project_guard FROM workspaces WHERE name = :name FOR UPDATE

-- name: workspaces_count_alone
-- differs because workspaces are written at the same time, so that two could take the last place.
SELECT CAST(pg_advisory_xact_lock(7312, hashtext(:name)) AS TEXT) AS name

-- name: idempotency_of
-- The stored answers to these keys, in a workspace that may not exist yet.
-- differs because the functions that expand JSON arrays differ.
SELECT key, cmd, digest, answer FROM idempotency
WHERE ws = (SELECT ws FROM workspaces WHERE name = :name)
  AND key = ANY (ARRAY (SELECT jsonb_array_elements_text(CAST(:keys AS JSONB))))

-- name: log_stretch
-- Rows of a bounded stretch of the log, from chosen streams. Of some kinds, only the newest row up
-- to a seq for each stream, subject and kind.
-- differs because the functions that expand JSON arrays differ.
SELECT seq, ts_ms, stream, subject, kind, actor, data
FROM log
WHERE ws = :ws AND seq > :after AND seq <= :upto
  AND (:streams = '[]'
      OR stream = ANY (ARRAY (SELECT jsonb_array_elements_text(CAST(:streams AS JSONB)))))
  AND (:subject = '' OR subject = :subject)
  AND (kind <> ALL (ARRAY (SELECT jsonb_array_elements_text(CAST(:newest AS JSONB))))
      OR NOT COALESCE((
          SELECT later.seq FROM log AS later
          WHERE later.ws = log.ws AND later.subject = log.subject AND later.seq > log.seq
            AND later.kind = log.kind AND later.stream = log.stream
          ORDER BY later.seq LIMIT 1
      ) <= :until, FALSE))
ORDER BY seq LIMIT :limit

-- name: log_of_subjects
-- Some subjects' rows of one stream in a stretch of the log: of one kind, or without some kinds.
-- differs because the functions that expand JSON arrays differ.
SELECT seq, ts_ms, stream, subject, kind, actor, data FROM log
WHERE ws = :ws AND subject IN (SELECT value FROM jsonb_array_elements_text(CAST(:subjects AS JSONB)) AS s (value))
  AND seq > :after AND seq <= :upto AND stream = :stream AND (:kind = '' OR kind = :kind)
  AND kind NOT IN (SELECT value FROM jsonb_array_elements_text(CAST(:without AS JSONB)) AS w (value))
ORDER BY seq

-- name: log_newest_of_subjects
-- Some subjects' newest row of one stream up to a seq.
-- differs because the functions that expand JSON arrays differ.
SELECT seq, ts_ms, stream, subject, kind, actor, data FROM log
WHERE ws = :ws AND seq IN (
    SELECT (SELECT l.seq FROM log AS l
            WHERE l.ws = :ws AND l.subject = s.value AND l.stream = :stream AND l.seq <= :upto
              AND (:kind = '' OR l.kind = :kind)
            ORDER BY l.seq DESC LIMIT 1)
    FROM jsonb_array_elements_text(CAST(:subjects AS JSONB)) AS s (value))
