-- name: task_add
-- Add a task; its first frames follow in the same transaction.
INSERT INTO tool_tasks
    (ws, n, name, tool, mode, spec, owner, identity, role, agent_id, job_id, lifetime,
     created_at_ms, created_seq, status, next_at, state, last_seq)
VALUES
    (:ws, :n, :name, :tool, :mode, :spec, :owner, :identity, :role, :agent_id, :job_id, :lifetime,
     :now, :seq, 'queued', 0, '{}', :seq)
RETURNING *

-- name: task_one
-- One task.
SELECT * FROM tool_tasks WHERE ws = :ws AND n = :n

-- name: task_named
-- The newest task with a name: only that one can still be running.
SELECT * FROM tool_tasks WHERE ws = :ws AND name = :name ORDER BY n DESC LIMIT 1

-- name: task_fold
-- Store the fold of a task's frames after the newest of them.
UPDATE tool_tasks SET status = :status, next_at = :next_at, state = :state, last_seq = :seq
WHERE ws = :ws AND n = :n
RETURNING *

-- name: task_claim
-- Give a waiting task to a host, once.
UPDATE tool_tasks SET host_id = :host_id
WHERE ws = :ws AND n = :n AND status = 'queued' AND host_id IS NULL AND held IS NULL
RETURNING *

-- name: commands_waiting
-- The tasks that wait for a server to run their command: the oldest of each owner and tool, then the next of each.
SELECT n, owner, tool FROM (
    SELECT n, owner, tool, ROW_NUMBER() OVER (PARTITION BY owner, tool ORDER BY n) AS place FROM tool_tasks
    WHERE ws = :ws AND status = 'queued' AND host_id IS NULL AND held IS NULL AND tool NOT IN ('bash', 'exec')
) AS waiting
WHERE place <= :places ORDER BY place, n LIMIT 1000

-- name: tasks_waiting
-- The unclaimed tasks whose tool needs a host, oldest first.
SELECT * FROM tool_tasks
WHERE ws = :ws AND status = 'queued' AND host_id IS NULL AND held IS NULL AND tool IN ('bash', 'exec')
ORDER BY n LIMIT :limit

-- name: waiting_count
-- How many tasks are waiting for a host, up to a limit.
SELECT COUNT(*) AS waiting FROM (
    SELECT 1 FROM tool_tasks
    WHERE ws = :ws AND status = 'queued' AND host_id IS NULL AND held IS NULL AND tool IN ('bash', 'exec')
    LIMIT :limit
) AS those

-- name: waiting_before
-- How many tasks that were spawned before this one are waiting.
SELECT COUNT(*) AS waiting FROM tool_tasks
WHERE ws = :ws AND n < :n AND status = 'queued' AND host_id IS NULL AND held IS NULL AND tool IN ('bash', 'exec')

-- name: task_hold
-- Hold a task that came from elsewhere before anything started it.
UPDATE tool_tasks SET held = :how WHERE ws = :ws AND n = :n AND status = 'queued' AND host_id IS NULL

-- name: task_release
-- Release a held task: it now belongs to whoever released it, and may do no more than they may.
UPDATE tool_tasks SET held = NULL, owner = :owner, identity = :identity, spec = :spec,
    role = CASE WHEN role > CAST(:role AS INTEGER) THEN CAST(:role AS INTEGER) ELSE role END
WHERE ws = :ws AND n = :n AND status = 'queued' AND held IS NOT NULL
RETURNING *

-- name: tasks_unfinished
-- A page of the unfinished tasks, oldest first.
SELECT * FROM tool_tasks WHERE ws = :ws AND status IN ('queued', 'running') AND n > :after
ORDER BY n LIMIT :limit

-- name: tasks_of_nobody
-- No token of this store started a task that came from elsewhere.
UPDATE tool_tasks SET owner = '', identity = NULL WHERE ws = :ws

-- name: hosts_disown
-- The hosts of another store are not here.
DELETE FROM tool_hosts WHERE ws = :ws

-- name: held_count
-- How many unfinished tasks have a host that has reported since a time.
SELECT COUNT(*) AS held
FROM tool_tasks AS t JOIN tool_hosts AS h ON h.ws = t.ws AND h.host_id = t.host_id
WHERE t.ws = :ws AND t.status IN ('queued', 'running') AND h.seen_ms >= :since

-- name: tasks_held
-- The unfinished tasks of one host, oldest first.
SELECT * FROM tool_tasks
WHERE ws = :ws AND host_id = :host_id AND status IN ('queued', 'running') AND n > :after
ORDER BY n LIMIT :limit

-- name: tasks_newest
-- A page, newest first.
SELECT * FROM tool_tasks WHERE ws = :ws AND n < :before ORDER BY n DESC LIMIT :limit

-- name: tasks_going
-- The newest unfinished tasks.
SELECT n, name, status, state, spec, created_at_ms FROM tool_tasks
WHERE ws = :ws AND status IN ('queued', 'running') ORDER BY n DESC LIMIT :limit

-- name: tasks_active
-- A page of unfinished tasks, newest first.
SELECT * FROM tool_tasks
WHERE ws = :ws AND n < :before AND status IN ('queued', 'running')
  AND (CAST(:agent AS TEXT) IS NULL OR agent_id = :agent)
  AND (CAST(:job AS TEXT) IS NULL OR job_id = :job)
  AND (CAST(:name AS TEXT) IS NULL OR name = :name)
ORDER BY n DESC LIMIT :limit

-- name: tasks_found
-- A page of the tasks that match all given filters, newest first.
SELECT * FROM tool_tasks
WHERE ws = :ws AND n < :before
  AND (CAST(:status AS TEXT) IS NULL OR status = :status)
  AND (CAST(:agent AS TEXT) IS NULL OR agent_id = :agent)
  AND (CAST(:job AS TEXT) IS NULL OR job_id = :job)
  AND (CAST(:name AS TEXT) IS NULL OR name = :name)
ORDER BY n DESC LIMIT :limit

-- name: frames_add
-- Record the position of a frame in the log.
INSERT INTO tool_frames (ws, n, at, seq) VALUES (:ws, :n, :at, :seq)

-- name: frames_from
-- The frames of a task from a position in its stream on, oldest first.
SELECT f.at, l.seq, l.ts_ms, l.kind, l.actor, l.data
FROM tool_frames AS f JOIN log AS l ON l.ws = f.ws AND l.seq = f.seq
WHERE f.ws = :ws AND f.n = :n AND f.at >= :at
ORDER BY f.at LIMIT :limit

-- name: frame_upto
-- The last frame of a task up to a seq.
SELECT at, seq FROM tool_frames WHERE ws = :ws AND n = :n AND seq <= :upto ORDER BY at DESC LIMIT 1

-- name: op_add
-- Add a requested operation.
INSERT INTO tool_ops (ws, n, k, kind, payload, pending, turn, actor)
VALUES (:ws, :n, :k, :kind, :payload, 1, :turn, :actor)

-- name: ops_count
-- How many operations a task has had: they are numbered from 1, and its last one stays.
SELECT COALESCE(MAX(k), 0) AS ops FROM tool_ops WHERE ws = :ws AND n = :n

-- name: op_done
-- An operation has its outcome: its payload is no longer needed.
UPDATE tool_ops SET pending = 0, payload = '{}'
WHERE ws = :ws AND n = :n AND k = :k AND pending = 1
RETURNING kind

-- name: ops_actors
-- Who requested the operations of a task that have no outcome yet.
SELECT k, actor FROM tool_ops WHERE ws = :ws AND n = :n AND pending = 1

-- name: ops_before
-- Delete the operations that had their outcome before a later one.
DELETE FROM tool_ops WHERE ws = :ws AND n = :n AND k < :k AND pending = 0

-- name: ops_over
-- The task has ended: there will be no more operations, and those without an outcome will have none.
DELETE FROM tool_ops WHERE ws = :ws AND n = :n RETURNING k, kind, payload, actor, pending

-- name: ops_pending
-- The operations of a host's tasks that have no outcome yet, in order.
SELECT o.n, o.k, o.kind, o.payload, o.turn
FROM tool_ops AS o JOIN tool_tasks AS t ON t.ws = o.ws AND t.n = o.n
WHERE o.ws = :ws AND o.pending = 1 AND o.turn > :after AND t.host_id = :host_id
ORDER BY o.turn LIMIT :limit

-- name: host_one
-- One host.
SELECT * FROM tool_hosts WHERE ws = :ws AND host_id = :host_id

-- name: host_take
-- Make a runner the one that speaks for a host, in place of any earlier one. Revisions follow the clock: a restored store
-- may know an older one than the host, or none, and the host refuses whoever comes with a lower one.
INSERT INTO tool_hosts (ws, host_id, runner_id, owner, revision, seen_ms)
VALUES (:ws, :host_id, :runner_id, :owner, :now, :now)
ON CONFLICT (ws, host_id) DO UPDATE SET runner_id = :runner_id, owner = :owner,
    revision = CASE WHEN tool_hosts.revision < :now THEN :now ELSE tool_hosts.revision + 1 END,
    seen_ms = :now, stalled_ms = NULL
WHERE (tool_hosts.owner = :owner OR :leads = 1)
  AND (:only_if_silent = 0 OR tool_hosts.runner_id = :runner_id OR tool_hosts.seen_ms < :since)
RETURNING *

-- name: hosts_all
-- The hosts of a workspace that have unfinished tasks or reported lately, newest report first.
SELECT h.*, (
    SELECT COUNT(*) FROM tool_tasks AS t
    WHERE t.ws = h.ws AND t.host_id = h.host_id AND t.status IN ('queued', 'running')
) AS held
FROM tool_hosts AS h WHERE h.ws = :ws
ORDER BY h.seen_ms DESC, h.host_id LIMIT :limit

-- name: hosts_in_trouble
-- The hosts with unfinished tasks that are silent or do not answer their runner.
SELECT h.* FROM tool_hosts AS h
WHERE h.ws = :ws AND (h.seen_ms < :since OR h.stalled_ms IS NOT NULL)
  AND EXISTS (
    SELECT 1 FROM tool_tasks AS t
    WHERE t.ws = h.ws AND t.host_id = h.host_id AND t.status IN ('queued', 'running')
)
ORDER BY h.host_id LIMIT :limit

-- name: host_fence
-- Have the runner of a host start over, should it return: it must learn what was given up.
UPDATE tool_hosts SET revision = revision + 1 WHERE ws = :ws AND host_id = :host_id

-- name: host_answers
-- Record whether a host answers its runner, if that has changed.
UPDATE tool_hosts SET stalled_ms = :stalled_ms
WHERE ws = :ws AND host_id = :host_id
  AND ((:answers = 1 AND stalled_ms IS NOT NULL) OR (:answers = 0 AND stalled_ms IS NULL))
RETURNING host_id

-- name: host_heard
-- Record that a host's runner is alive; no row if it no longer speaks for the host.
UPDATE tool_hosts SET seen_ms = :now
WHERE ws = :ws AND host_id = :host_id AND runner_id = :runner_id AND revision = :revision
  AND owner = :owner
RETURNING *

-- name: rules_in_force
-- The policy rules in force, oldest first.
SELECT n, rule FROM tool_rules WHERE ws = :ws AND withdrawn = 0 ORDER BY n

-- name: rule_add
-- Add a policy rule.
INSERT INTO tool_rules (ws, n, rule, created_seq, last_seq) VALUES (:ws, :n, :rule, :seq, :seq)

-- name: rule_withdraw
-- Withdraw a policy rule.
UPDATE tool_rules SET withdrawn = 1, last_seq = :seq WHERE ws = :ws AND n = :n AND withdrawn = 0
RETURNING rule

-- name: frame_at
-- The position of a frame in its stream, by its position in the log.
SELECT at FROM tool_frames WHERE ws = :ws AND n = :n AND seq = :seq

-- name: tasks_of_jobs
-- The unfinished tasks that end with their job.
SELECT * FROM tool_tasks
WHERE ws = :ws AND status IN ('queued', 'running') AND lifetime = 'job' AND job_id IS NOT NULL
ORDER BY n LIMIT :limit

-- name: tasks_lost
-- The unfinished tasks of hosts that have been silent since a time.
SELECT t.* FROM tool_tasks AS t JOIN tool_hosts AS h ON h.ws = t.ws AND h.host_id = t.host_id
WHERE t.ws = :ws AND t.status IN ('queued', 'running') AND h.seen_ms < :before
ORDER BY t.n LIMIT :limit

-- name: tasks_lost_cancelled
-- The unfinished tasks of hosts that have been silent since a time and that were told to end.
SELECT t.* FROM tool_tasks AS t JOIN tool_hosts AS h ON h.ws = t.ws AND h.host_id = t.host_id
WHERE t.ws = :ws AND t.status IN ('queued', 'running') AND h.seen_ms < :before
  AND EXISTS (
    SELECT 1 FROM tool_ops AS o
    WHERE o.ws = t.ws AND o.n = t.n AND o.kind = 'cancel' AND o.pending = 1
)
ORDER BY t.n LIMIT :limit

-- name: runner_missing
-- Whether tasks are queued or running but no host of this workspace has reported since a time.
SELECT 1 AS missing
WHERE EXISTS (
    SELECT 1 FROM tool_tasks
    WHERE ws = :ws AND status IN ('queued', 'running') AND tool IN ('bash', 'exec')
      AND held IS NULL
)
  AND NOT EXISTS (SELECT 1 FROM tool_hosts WHERE ws = :ws AND seen_ms >= :since)

-- name: states_with_artifacts
-- The folds that name a stored log that must be kept.
SELECT state FROM tool_tasks
WHERE ws = :ws AND removed_at_ms IS NULL AND state LIKE '%"artifact":"%'

-- name: wakeups_in_force
-- The wake-up rules in force, oldest first.
SELECT n, rule FROM tool_wakeups WHERE ws = :ws AND withdrawn = 0 ORDER BY n

-- name: wakeup_add
-- Add a wake-up rule.
INSERT INTO tool_wakeups (ws, n, rule, created_seq, last_seq) VALUES (:ws, :n, :rule, :seq, :seq)

-- name: wakeup_withdraw
-- Withdraw a wake-up rule.
UPDATE tool_wakeups SET withdrawn = 1, last_seq = :seq WHERE ws = :ws AND n = :n AND withdrawn = 0
RETURNING rule

-- name: output_removed
-- Mark the output of an ended task as removed, once; its frames and digests stay.
UPDATE tool_tasks SET removed_at_ms = :now, removed_why = :why
WHERE ws = :ws AND n = :n AND removed_at_ms IS NULL
  AND status IN ('exited', 'cancelled', 'failed')
RETURNING n

-- name: typed_add
-- Hold typed input until it has reached the terminal.
INSERT INTO tool_typed (workspace, task, op, plain, application)
VALUES (:ws, :n, :k, :plain, :application)

-- name: typed_one
-- The typed input of one operation.
SELECT plain, application FROM tool_typed WHERE workspace = :ws AND task = :n AND op = :k

-- name: typed_gone
-- Forget the input of an operation that has its outcome.
DELETE FROM tool_typed WHERE workspace = :ws AND task = :n AND op = :k

-- name: typed_over
-- Forget all input of a task that has ended.
DELETE FROM tool_typed WHERE workspace = :ws AND task = :n

-- name: ops_waiting
-- How many operations of a task have no outcome yet.
SELECT COUNT(*) AS waiting FROM tool_ops WHERE ws = :ws AND n = :n AND pending = 1

-- name: log_of
-- The artifact that holds a stream of a remote host.
SELECT handle FROM tool_logs WHERE ws = :ws AND n = :n AND stream = :stream

-- name: logs_of
-- The artifacts that hold one task's streams.
SELECT handle FROM tool_logs WHERE ws = :ws AND n = :n ORDER BY stream

-- name: logs_kept
-- The artifacts that hold output of remote hosts and have not been removed.
SELECT log.n, log.handle FROM tool_logs log JOIN tool_tasks task ON task.ws = log.ws AND task.n = log.n
WHERE log.ws = :ws AND task.removed_at_ms IS NULL

-- name: tasks_printed
-- A page of the tasks whose output has not been removed, oldest first.
SELECT * FROM tool_tasks
WHERE ws = :ws AND n > :after AND removed_at_ms IS NULL AND status <> 'queued'
ORDER BY n LIMIT :limit

-- name: log_begun
-- Begin to store a stream of a remote host.
INSERT INTO tool_logs (ws, n, stream, handle) VALUES (:ws, :n, :stream, :handle)

-- name: hosts_clamp
-- No host can have been heard from later than now.
UPDATE tool_hosts SET seen_ms = :now WHERE ws = :ws AND seen_ms > :now

-- name: hosts_forget
-- Delete hosts that have been silent for long and have nothing left to report.
DELETE FROM tool_hosts
WHERE ws = :ws AND seen_ms < :before AND NOT EXISTS (
    SELECT 1 FROM tool_tasks AS t WHERE t.ws = :ws AND t.host_id = tool_hosts.host_id
      AND t.status IN ('queued', 'running')
)
