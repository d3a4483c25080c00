-- name: seq_take
-- differs because the row lock is what serialises the writers of one workspace.
SELECT seq FROM workspaces WHERE ws = :ws FOR UPDATE
