-- name: workspace_lock
-- differs because the row lock is what serialises the writers of one workspace.
SELECT ws, seq, project_guard FROM workspaces WHERE name = :name FOR UPDATE

-- name: idempotency_of
-- What earlier calls with these keys were answered, in a workspace that may not exist yet.
-- differs because the functions that unfold JSON differ.
SELECT key, cmd, digest, answer FROM idempotency
WHERE ws = (SELECT ws FROM workspaces WHERE name = :name)
  AND key = ANY (ARRAY (SELECT jsonb_array_elements_text(CAST(:keys AS JSONB))))
