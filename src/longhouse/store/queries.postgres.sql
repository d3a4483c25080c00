-- name: workspace_lock
-- differs because the row lock is what serialises the writers of one workspace.
SELECT ws, seq, project_guard FROM workspaces WHERE name = :name FOR UPDATE
