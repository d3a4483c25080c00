-- name: workspace_lock
-- differs because the row lock is what serialises the writers of one workspace.
SELECT ws, seq, project_guard FROM workspaces WHERE name = :name FOR UPDATE

-- name: idempotency_of
-- What earlier calls with these keys were answered, in a workspace that may not exist yet.
-- differs because the functions that unfold JSON differ.
SELECT key, cmd, digest, answer FROM idempotency
WHERE ws = (SELECT ws FROM workspaces WHERE name = :name)
  AND key = ANY (ARRAY (SELECT jsonb_array_elements_text(CAST(:keys AS JSONB))))

-- name: log_stretch
-- Rows of a bounded stretch of the log: of chosen streams, and of some kinds only those that no
-- row of the same stream, subject and kind follows up to a seq.
-- differs because the functions that unfold JSON differ.
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
