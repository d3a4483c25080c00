-- name: task_add
-- A task that was asked for; its first frames follow in the same transaction.
INSERT INTO tool_tasks
    (ws, n, name, tool, mode, spec, owner, role, agent_id, job_id, lifetime, created_at_ms,
     created_seq, status, next_at, state, last_seq)
VALUES
    (:ws, :n, :name, :tool, :mode, :spec, :owner, :role, :agent_id, :job_id, :lifetime, :now,
     :seq, 'queued', 0, '{}', :seq)
RETURNING *

-- name: task_one
-- One task.
SELECT * FROM tool_tasks WHERE ws = :ws AND n = :n

-- name: task_named
-- The newest task of a name: only that one can still run.
SELECT * FROM tool_tasks WHERE ws = :ws AND name = :name ORDER BY n DESC LIMIT 1

-- name: task_fold
-- What the frames of a task amount to after the newest of them.
UPDATE tool_tasks SET status = :status, next_at = :next_at, state = :state, last_seq = :seq
WHERE ws = :ws AND n = :n
RETURNING *

-- name: task_claim
-- Give a waiting task to a host, once.
UPDATE tool_tasks SET host_id = :host_id
WHERE ws = :ws AND n = :n AND status = 'queued' AND host_id IS NULL
RETURNING *

-- name: command_waiting
-- The task that has waited longest for a server to carry out its command.
SELECT n FROM tool_tasks
WHERE ws = :ws AND status = 'queued' AND host_id IS NULL AND tool NOT IN ('bash', 'exec')
ORDER BY n LIMIT 1

-- name: tasks_waiting
-- The tasks that no host has, oldest first, of the tools that need one.
SELECT n FROM tool_tasks
WHERE ws = :ws AND status = 'queued' AND host_id IS NULL AND tool IN ('bash', 'exec')
ORDER BY n LIMIT :limit

-- name: waiting_count
-- How many tasks wait for a host, up to a limit.
SELECT COUNT(*) AS waiting FROM (
    SELECT 1 FROM tool_tasks
    WHERE ws = :ws AND status = 'queued' AND host_id IS NULL AND tool IN ('bash', 'exec')
    LIMIT :limit
) AS those

-- name: waiting_before
-- How many tasks wait that were asked for before this one.
SELECT COUNT(*) AS waiting FROM tool_tasks
WHERE ws = :ws AND n < :n AND status = 'queued' AND host_id IS NULL AND tool IN ('bash', 'exec')

-- name: held_count
-- How many tasks hosts have that have not ended.
SELECT COUNT(*) AS held FROM tool_tasks
WHERE ws = :ws AND host_id IS NOT NULL AND status IN ('queued', 'running')

-- name: tasks_held
-- The tasks that one host has and that have not ended, oldest first.
SELECT * FROM tool_tasks
WHERE ws = :ws AND host_id = :host_id AND status IN ('queued', 'running') AND n > :after
ORDER BY n LIMIT :limit

-- name: tasks_newest
-- A page, newest first.
SELECT * FROM tool_tasks WHERE ws = :ws AND n < :before ORDER BY n DESC LIMIT :limit

-- name: tasks_active
-- A page of those that have not ended, newest first.
SELECT * FROM tool_tasks
WHERE ws = :ws AND n < :before AND status IN ('queued', 'running')
  AND (CAST(:agent AS TEXT) IS NULL OR agent_id = :agent)
  AND (CAST(:job AS TEXT) IS NULL OR job_id = :job)
  AND (CAST(:name AS TEXT) IS NULL OR name = :name)
ORDER BY n DESC LIMIT :limit

-- name: tasks_found
-- A page of those that match all that is given, newest first.
SELECT * FROM tool_tasks
WHERE ws = :ws AND n < :before
  AND (CAST(:status AS TEXT) IS NULL OR status = :status)
  AND (CAST(:agent AS TEXT) IS NULL OR agent_id = :agent)
  AND (CAST(:job AS TEXT) IS NULL OR job_id = :job)
  AND (CAST(:name AS TEXT) IS NULL OR name = :name)
ORDER BY n DESC LIMIT :limit

-- name: frames_add
-- Where in the log a frame stands.
INSERT INTO tool_frames (ws, n, at, seq) VALUES (:ws, :n, :at, :seq)

-- name: frames_from
-- Frames of a task from a place of its stream on, oldest first.
SELECT f.at, l.seq, l.ts_ms, l.kind, l.actor, l.data
FROM tool_frames AS f JOIN log AS l ON l.ws = f.ws AND l.seq = f.seq
WHERE f.ws = :ws AND f.n = :n AND f.at >= :at
ORDER BY f.at LIMIT :limit

-- name: op_add
-- An operation that somebody asked for.
INSERT INTO tool_ops (ws, n, k, kind, payload, pending, seq)
VALUES (:ws, :n, :k, :kind, :payload, 1, :seq)

-- name: ops_count
-- How many operations a task was ever asked for: they are counted from 1, and none is deleted.
SELECT COALESCE(MAX(k), 0) AS ops FROM tool_ops WHERE ws = :ws AND n = :n

-- name: op_done
-- An operation has its outcome: what it carried is not needed again.
UPDATE tool_ops SET pending = 0, payload = '{}'
WHERE ws = :ws AND n = :n AND k = :k AND pending = 1
RETURNING kind

-- name: ops_over
-- The task has ended: nothing that was asked for can happen any more.
UPDATE tool_ops SET pending = 0, payload = '{}' WHERE ws = :ws AND n = :n AND pending = 1

-- name: ops_pending
-- What the tasks of a host were asked for and have no outcome of, in order.
SELECT o.n, o.k, o.kind, o.payload, o.seq
FROM tool_ops AS o JOIN tool_tasks AS t ON t.ws = o.ws AND t.n = o.n
WHERE o.ws = :ws AND o.pending = 1 AND o.seq > :after AND t.host_id = :host_id
ORDER BY o.seq LIMIT :limit

-- name: host_one
-- One host.
SELECT * FROM tool_hosts WHERE ws = :ws AND host_id = :host_id

-- name: host_take
-- A runner speaks for a host from now on: whoever did before does no more.
INSERT INTO tool_hosts (ws, host_id, runner_id, owner, revision, seen_ms)
VALUES (:ws, :host_id, :runner_id, :owner, 1, :now)
ON CONFLICT (ws, host_id) DO UPDATE SET runner_id = :runner_id, owner = :owner,
    revision = tool_hosts.revision + 1, seen_ms = :now
WHERE tool_hosts.owner = :owner OR :leads = 1
RETURNING *

-- name: host_heard
-- The runner of a host was heard; None if it speaks for the host no more.
UPDATE tool_hosts SET seen_ms = :now
WHERE ws = :ws AND host_id = :host_id AND runner_id = :runner_id AND revision = :revision
  AND owner = :owner
RETURNING *

-- name: rules_in_force
-- The policy rules that hold, oldest first.
SELECT n, rule FROM tool_rules WHERE ws = :ws AND withdrawn = 0 ORDER BY n

-- name: rule_add
-- A rule that the operator made.
INSERT INTO tool_rules (ws, n, rule, created_seq, last_seq) VALUES (:ws, :n, :rule, :seq, :seq)

-- name: rule_withdraw
-- A rule that the operator takes back.
UPDATE tool_rules SET withdrawn = 1, last_seq = :seq WHERE ws = :ws AND n = :n AND withdrawn = 0
RETURNING rule

-- name: frame_at
-- The place of a frame in its stream, by its place in the log.
SELECT at FROM tool_frames WHERE ws = :ws AND n = :n AND seq = :seq

-- name: tasks_of_jobs
-- The tasks that end with a job and have not ended.
SELECT * FROM tool_tasks
WHERE ws = :ws AND status IN ('queued', 'running') AND lifetime = 'job' AND job_id IS NOT NULL
ORDER BY n LIMIT :limit

-- name: tasks_lost
-- The tasks of hosts that have not been heard of since a time.
SELECT t.* FROM tool_tasks AS t JOIN tool_hosts AS h ON h.ws = t.ws AND h.host_id = t.host_id
WHERE t.ws = :ws AND t.status IN ('queued', 'running') AND h.seen_ms < :before
ORDER BY t.n LIMIT :limit

-- name: runner_missing
-- Whether tasks wait or run although no host of this workspace was heard since a time.
SELECT 1 AS missing
WHERE EXISTS (
    SELECT 1 FROM tool_tasks
    WHERE ws = :ws AND status IN ('queued', 'running') AND tool IN ('bash', 'exec')
)
  AND NOT EXISTS (SELECT 1 FROM tool_hosts WHERE ws = :ws AND seen_ms >= :since)

-- name: states_with_artifacts
-- The folds that name a stored log which is to stay.
SELECT state FROM tool_tasks
WHERE ws = :ws AND removed_at_ms IS NULL AND state LIKE '%"artifact":"%'

-- name: wakeups_in_force
-- The rules for wake-ups that hold, oldest first.
SELECT n, rule FROM tool_wakeups WHERE ws = :ws AND withdrawn = 0 ORDER BY n

-- name: wakeup_add
-- A rule for wake-ups that the operator made.
INSERT INTO tool_wakeups (ws, n, rule, created_seq, last_seq) VALUES (:ws, :n, :rule, :seq, :seq)

-- name: wakeup_withdraw
-- A rule for wake-ups that the operator takes back.
UPDATE tool_wakeups SET withdrawn = 1, last_seq = :seq WHERE ws = :ws AND n = :n AND withdrawn = 0
RETURNING rule

-- name: output_removed
-- The output of a task that has ended is removed, once; its frames and digests stay.
UPDATE tool_tasks SET removed_at_ms = :now, removed_why = :why
WHERE ws = :ws AND n = :n AND removed_at_ms IS NULL
  AND status IN ('exited', 'cancelled', 'failed')
RETURNING n

-- name: typed_add
-- What was typed, until it has reached the terminal.
INSERT INTO tool_typed (workspace, task, op, plain, application)
VALUES (:ws, :n, :k, :plain, :application)

-- name: typed_one
-- What was typed by one operation.
SELECT plain, application FROM tool_typed WHERE workspace = :ws AND task = :n AND op = :k

-- name: typed_gone
-- An operation has its outcome.
DELETE FROM tool_typed WHERE workspace = :ws AND task = :n AND op = :k

-- name: typed_over
-- A task has ended.
DELETE FROM tool_typed WHERE workspace = :ws AND task = :n

-- name: typed_waiting
-- How many times something was typed into a task and has not reached its terminal.
SELECT COUNT(*) AS waiting FROM tool_ops
WHERE ws = :ws AND n = :n AND pending = 1 AND kind = 'stdin'

-- name: log_of
-- The artifact in which the output of a host elsewhere grows.
SELECT handle FROM tool_logs WHERE ws = :ws AND n = :n AND stream = :stream

-- name: logs_of
-- The artifacts of one task.
SELECT handle FROM tool_logs WHERE ws = :ws AND n = :n ORDER BY stream

-- name: logs_kept
-- The artifacts that hold output of hosts elsewhere which was not removed.
SELECT log.n, log.handle FROM tool_logs log JOIN tool_tasks task ON task.ws = log.ws AND task.n = log.n
WHERE log.ws = :ws AND task.removed_at_ms IS NULL

-- name: log_begun
-- Output of a host elsewhere begins to be kept.
INSERT INTO tool_logs (ws, n, stream, handle) VALUES (:ws, :n, :stream, :handle)
