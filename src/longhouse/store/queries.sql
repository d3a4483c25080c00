-- name: workspace_by_name
-- A workspace's row id and guard.
SELECT ws, project_guard FROM workspaces WHERE name = :name

-- name: workspace_add
-- Create a workspace; does nothing if another writer was first.
INSERT INTO workspaces (name, project_guard, created_at_ms)
VALUES (:name, :guard, :now)
ON CONFLICT (name) DO NOTHING

-- name: workspace_set_guard
-- Bind a workspace to a project, once.
UPDATE workspaces SET project_guard = :guard WHERE ws = :ws AND project_guard IS NULL

-- name: workspace_binding
-- Whether projects are bound to the workspace, and what earlier versions noted about its project.
SELECT binding, project_guard FROM workspaces WHERE ws = :ws

-- name: workspace_is_open
-- Whether no project was ever bound to a workspace, so that its own may still be on first use.
SELECT binding FROM workspaces WHERE ws = :number AND binding = 'open'

-- name: workspace_set_binding
-- Note that projects are bound to a workspace, or that only a person may bind one.
UPDATE workspaces SET binding = :binding WHERE ws = :number

-- name: workspace_projects
-- The projects that are bound to a workspace, the first one first.
SELECT project, root, bound_by, bound_at_ms FROM workspace_projects
WHERE ws = :number ORDER BY bound_at_ms, project

-- name: workspace_project_add
-- Bind a project to a workspace, unless it is.
INSERT INTO workspace_projects (ws, project, root, bound_by, bound_at_ms)
VALUES (:number, :project, :root, :by, :now)
ON CONFLICT (ws, project) DO NOTHING
RETURNING project

-- name: workspace_project_remove
-- Unbind a project from a workspace.
DELETE FROM workspace_projects WHERE ws = :number AND project = :project RETURNING project

-- name: workspace_projects_forget
-- Unbind every project from a workspace.
DELETE FROM workspace_projects WHERE ws = :number

-- name: workspace_names
-- All workspaces, for people and recovery hints.
SELECT ws, name, seq, created_at_ms FROM workspaces ORDER BY name LIMIT :limit

-- name: workspaces_count_alone
-- Let nobody else count the workspaces that have this counter until commit; SQLite has one writer.
SELECT :name AS name

-- name: workspaces_counting
-- How many workspaces have a counter.
SELECT count(*) AS n FROM counters WHERE name = :name

-- name: workspace_lock
-- Enter a workspace to write: read its sequence and the time of its newest log row.
SELECT ws, seq, project_guard,
    (SELECT ts_ms FROM log WHERE log.ws = workspaces.ws ORDER BY log.seq DESC LIMIT 1) AS ts_ms
FROM workspaces WHERE name = :name

-- name: seq_store
-- Write the sequence back, once per commit.
UPDATE workspaces SET seq = :seq WHERE ws = :ws

-- name: workspace_seqs
-- The seq of every workspace, for a process that was woken by a commit.
SELECT name, seq FROM workspaces

-- name: workspace_name
-- The name of a workspace.
SELECT name FROM workspaces WHERE ws = :number

-- name: seq_now
-- The last committed seq.
SELECT seq FROM workspaces WHERE ws = :ws

-- name: counter_now
-- The value of a counter: the number in JOB-007.
SELECT value FROM counters WHERE ws = :ws AND name = :name

-- name: counter_store
-- Write a counter back, once per commit.
INSERT INTO counters (ws, name, value) VALUES (:ws, :name, :value)
ON CONFLICT (ws, name) DO UPDATE SET value = excluded.value

-- name: log_append
-- One row per mutation, in the same transaction as its projection.
INSERT INTO log (ws, seq, ts_ms, stream, subject, kind, actor, data, span)
VALUES (:ws, :seq, :ts_ms, :stream, :subject, :kind, :actor, :data, :span)

-- name: log_after
-- A page of the log for readers that follow it.
SELECT seq, ts_ms, stream, subject, kind, actor, data
FROM log WHERE ws = :ws AND seq > :after ORDER BY seq LIMIT :limit

-- name: log_of_subject_after
-- A page of one subject's history, oldest first.
SELECT seq, ts_ms, stream, subject, kind, actor, data
FROM log WHERE ws = :ws AND subject = :subject AND seq > :after ORDER BY seq LIMIT :limit

-- name: log_of_subject_before
-- A page of one subject's history, newest first.
SELECT seq, ts_ms, stream, subject, kind, actor, data
FROM log WHERE ws = :ws AND subject = :subject AND seq < :before ORDER BY seq DESC LIMIT :limit

-- name: log_stretch
-- Rows of a bounded stretch of the log, from chosen streams. Of some kinds, only the newest row up
-- to a seq for each stream, subject and kind.
SELECT seq, ts_ms, stream, subject, kind, actor, data
FROM log
WHERE ws = :ws AND seq > :after AND seq <= :upto
  AND (:streams = '[]' OR stream IN (SELECT value FROM json_each(:streams)))
  AND (:subject = '' OR subject = :subject)
  AND (kind NOT IN (SELECT value FROM json_each(:newest))
      OR NOT COALESCE((
          SELECT later.seq FROM log AS later INDEXED BY log_of_subject
          WHERE later.ws = log.ws AND later.subject = log.subject AND later.seq > log.seq
            AND later.kind = log.kind AND later.stream = log.stream
          ORDER BY later.seq LIMIT 1
      ) <= :until, FALSE))
ORDER BY seq LIMIT :limit

-- name: log_time
-- The time of the newest row up to a seq.
SELECT ts_ms FROM log WHERE ws = :ws AND seq <= :upto ORDER BY seq DESC LIMIT 1

-- name: log_one
-- The row with one seq.
SELECT seq, ts_ms, stream, subject, kind, actor, data FROM log WHERE ws = :ws AND seq = :seq

-- name: idempotency_of
-- The stored answers to these keys, in a workspace that may not exist yet.
SELECT key, cmd, digest, answer FROM idempotency
WHERE ws = (SELECT ws FROM workspaces WHERE name = :name)
  AND key IN (SELECT value FROM json_each(:keys))

-- name: idempotency_put
-- Store an answer, in the transaction that made the change.
INSERT INTO idempotency (ws, key, cmd, digest, ts_ms, answer)
VALUES (:ws, :key, :cmd, :digest, :ts_ms, :answer)

-- name: idempotency_reissued
-- Replace a stored answer after a repeated call got a new credential.
UPDATE idempotency SET answer = :answer WHERE ws = :ws AND key = :key

-- name: idempotency_forget
-- Delete keys that are too old for a retry.
DELETE FROM idempotency WHERE ws = :ws AND ts_ms < :before

-- name: idempotency_clamp
-- Date keys that were stored under a clock that was ahead to now.
UPDATE idempotency SET ts_ms = :now WHERE ws = :ws AND ts_ms > :now

-- name: token_add
-- Add a token; only its digest is stored.
INSERT INTO tokens
    (token_id, digest, role, name, client, created_at_ms, workspaces, expires_at_ms, runner)
VALUES (:token_id, :digest, :role, :name, :client, :now, :workspaces, :expires_at_ms, :runner)

-- name: token_by_digest
-- The valid token that a caller presented.
SELECT token_id, role, name, client, workspaces, runner, expires_at_ms FROM tokens
WHERE digest = :digest AND revoked_at_ms IS NULL
  AND (expires_at_ms IS NULL OR expires_at_ms > :now)

-- name: token_reissue
-- Give the token with this digest a new credential, if it is still valid.
UPDATE tokens SET digest = :digest
WHERE token_id = :token_id AND digest = :before AND revoked_at_ms IS NULL
  AND (expires_at_ms IS NULL OR expires_at_ms > :now)
RETURNING token_id

-- name: token_lives
-- A token that is still valid, and whether it was made for a runner.
SELECT runner FROM tokens WHERE token_id = :token_id AND revoked_at_ms IS NULL
  AND (expires_at_ms IS NULL OR expires_at_ms > :now)

-- name: token_list
-- All tokens, newest first, or only the one with that id.
SELECT token_id, role, name, client, created_at_ms, revoked_at_ms, workspaces, expires_at_ms,
    runner
FROM tokens WHERE CAST(:token_id AS TEXT) IS NULL OR token_id = :token_id
ORDER BY created_at_ms DESC, token_id LIMIT :limit

-- name: token_revoke
-- Revoke a token, with immediate effect.
UPDATE tokens SET revoked_at_ms = :now WHERE token_id = :token_id AND revoked_at_ms IS NULL
RETURNING token_id

-- name: log_actors
-- When each actor's last row up to a seq was written.
SELECT actor, MAX(ts_ms) AS ts_ms FROM log
WHERE ws = :ws AND seq <= :upto AND actor IS NOT NULL GROUP BY actor

-- name: log_subjects
-- The subjects in a range of names that have rows up to a seq.
SELECT DISTINCT subject FROM log
WHERE ws = :ws AND subject >= :first AND subject < :past AND seq <= :upto

-- name: log_of_stream_after
-- A page of one stream's rows after a seq, oldest first.
SELECT seq, ts_ms, stream, subject, kind, actor, data FROM log
WHERE ws = :ws AND stream = :stream AND seq > :after ORDER BY seq LIMIT :limit

-- name: log_found
-- The newest rows of a stretch of the log that match all given filters; '' and 0 are any. In patterns
-- a space stands for an underscore, too.
SELECT seq, ts_ms, stream, subject, kind, actor, data FROM log
WHERE ws = :ws AND seq < :before AND seq >= :floor
  AND (:stream = '' OR stream = :stream)
  AND (:subject = '' OR UPPER(subject) = :subject)
  AND (:actor = '' OR LOWER(REPLACE(actor, '_', ' ')) LIKE :actor ESCAPE '!')
  AND (:kind = '' OR LOWER(REPLACE(kind, '_', ' ')) LIKE :kind ESCAPE '!')
  AND (CAST(:since AS INTEGER) = 0 OR ts_ms >= CAST(:since AS INTEGER))
  AND (CAST(:output AS INTEGER) = 1
       OR kind NOT IN ('tool_stdout', 'tool_stderr', 'tool_task_output_delta'))
ORDER BY seq DESC LIMIT :limit
