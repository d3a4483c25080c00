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
-- Rows of a bounded stretch of the log: of chosen streams, without some kinds but for chosen rows.
-- differs because the functions that unfold JSON differ.
SELECT seq, ts_ms, stream, subject, kind, actor, data
FROM log
WHERE ws = :ws AND seq > :after AND seq <= :upto
  AND (:streams = '[]'
      OR stream = ANY (ARRAY (SELECT jsonb_array_elements_text(CAST(:streams AS JSONB)))))
  AND (:subject = '' OR subject = :subject)
  AND (kind <> ALL (ARRAY (SELECT jsonb_array_elements_text(CAST(:without AS JSONB))))
      OR seq IN (SELECT CAST(value AS BIGINT) FROM jsonb_array_elements_text(CAST(:but AS JSONB))))
ORDER BY seq LIMIT :limit
