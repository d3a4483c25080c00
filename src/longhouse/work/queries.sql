-- A CROSS JOIN runs from left to right on both engines: from a task's own rows to the rows they name.

-- name: plan_add
-- Add a plan.
INSERT INTO plans
    (ws, plan_id, number, title, description, contract, contract_data, checklist, checklist_at,
     status, priority, tags, revision, created_at_ms, updated_at_ms)
VALUES
    (:ws, :plan_id, :number, :title, :description, :contract, :contract_data, :checklist, 0,
     'TODO', :priority, '[]', 1, :now, :now)
RETURNING *

-- name: plan_by_id
-- One plan.
SELECT * FROM plans WHERE ws = :ws AND plan_id = :plan_id

-- name: plan_by_title
-- The oldest plan with that title.
SELECT * FROM plans WHERE ws = :ws AND title = :title ORDER BY number LIMIT 1

-- name: plan_touch
-- Increment the revision, if it is still the expected one.
UPDATE plans SET revision = revision + 1, updated_at_ms = :now
WHERE ws = :ws AND plan_id = :plan_id
  AND (CAST(:expected AS INTEGER) IS NULL OR revision = CAST(:expected AS INTEGER))
RETURNING *

-- name: plan_set
-- Set all editable fields of a plan.
UPDATE plans SET title = :title, description = :description, context = :context,
    contract = :contract, contract_data = :contract_data, checklist = :checklist,
    checklist_at = :checklist_at, checklist_doc = :checklist_doc, status = :status,
    priority = :priority, tags = :tags
WHERE ws = :ws AND plan_id = :plan_id
RETURNING *

-- name: plan_delete
-- Delete a plan without tasks.
DELETE FROM plans WHERE ws = :ws AND plan_id = :plan_id

-- name: plans_page
-- Plans in order of creation.
SELECT * FROM plans WHERE ws = :ws AND number > :after ORDER BY number LIMIT :limit

-- name: plans_open_page
-- Open plans, in order of creation.
SELECT * FROM plans
WHERE ws = :ws AND number > :after AND status IN ('TODO', 'ACTIVE', 'PARKED')
ORDER BY number LIMIT :limit

-- name: plans_status_page
-- Plans in one state, in order of creation.
SELECT * FROM plans
WHERE ws = :ws AND status = :status AND number > :after ORDER BY number LIMIT :limit

-- name: task_add
-- Add a task to a plan.
INSERT INTO tasks
    (ws, task_id, number, plan_id, title, description, status, priority, reasoning_mode, tags,
     assignee, steps_total, steps_open, waits_for, ready_at, revision, created_at_ms,
     updated_at_ms)
VALUES
    (:ws, :task_id, :number, :plan_id, :title, :description, 'TODO', :priority, :reasoning_mode,
     '[]', :assignee, 0, 0, 0, :ready_at, 1, :now, :now)
RETURNING *

-- name: task_by_id
-- One task.
SELECT * FROM tasks WHERE ws = :ws AND task_id = :task_id

-- name: task_touch
-- Increment the revision, if it is still the expected one.
UPDATE tasks SET revision = revision + 1, updated_at_ms = :now
WHERE ws = :ws AND task_id = :task_id
  AND (CAST(:expected AS INTEGER) IS NULL OR revision = CAST(:expected AS INTEGER))
RETURNING *

-- name: task_set
-- Set all changeable fields of a task.
UPDATE tasks SET title = :title, description = :description, context = :context,
    domain = :domain, status = :status, priority = :priority, assignee = :assignee,
    reasoning_mode = :reasoning_mode, tags = :tags, parked_until_ts_ms = :parked_until_ts_ms,
    waits_for = :waits_for, ready_at = :ready_at
WHERE ws = :ws AND task_id = :task_id
RETURNING *

-- name: task_count_steps
-- Update the step counts stored on the task, so that lists need not read steps.
UPDATE tasks SET steps_total = steps_total + :total, steps_open = steps_open + :open
WHERE ws = :ws AND task_id = :task_id

-- name: task_delete
-- Delete a task, after its steps.
DELETE FROM tasks WHERE ws = :ws AND task_id = :task_id

-- name: tasks_page
-- Tasks in order of creation.
SELECT * FROM tasks WHERE ws = :ws AND number > :after ORDER BY number LIMIT :limit

-- name: tasks_with_traits
-- Tasks that have all given traits, in order of creation.
SELECT t.* FROM task_traits r CROSS JOIN tasks t
WHERE r.ws = :ws AND r.trait = :t0 AND r.number > :after AND t.ws = r.ws AND t.number = r.number
  AND (CAST(:t1 AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM task_traits x
       WHERE x.ws = r.ws AND x.trait = CAST(:t1 AS TEXT) AND x.number = r.number))
  AND (CAST(:t2 AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM task_traits x
       WHERE x.ws = r.ws AND x.trait = CAST(:t2 AS TEXT) AND x.number = r.number))
  AND (CAST(:t3 AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM task_traits x
       WHERE x.ws = r.ws AND x.trait = CAST(:t3 AS TEXT) AND x.number = r.number))
  AND (CAST(:t4 AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM task_traits x
       WHERE x.ws = r.ws AND x.trait = CAST(:t4 AS TEXT) AND x.number = r.number))
  AND (CAST(:t5 AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM task_traits x
       WHERE x.ws = r.ws AND x.trait = CAST(:t5 AS TEXT) AND x.number = r.number))
  AND (CAST(:t6 AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM task_traits x
       WHERE x.ws = r.ws AND x.trait = CAST(:t6 AS TEXT) AND x.number = r.number))
ORDER BY r.number LIMIT :limit

-- name: tasks_unproved_page
-- Tasks with a trait and without any receipt that proves something.
SELECT t.* FROM task_traits r CROSS JOIN tasks t
WHERE r.ws = :ws AND r.trait = :trait AND r.number > :after AND t.ws = r.ws AND t.number = r.number
  AND NOT EXISTS (
    SELECT 1 FROM steps s JOIN step_proofs p ON p.ws = s.ws AND p.step_id = s.step_id
    WHERE s.ws = t.ws AND s.task_id = t.task_id AND p.proves = 1)
ORDER BY r.number LIMIT :limit

-- name: tasks_ready_page
-- Ready tasks by priority, then age. A parked task counts once its timer has expired.
SELECT * FROM tasks
WHERE ws = :ws AND ready_at IS NOT NULL AND ready_at > :after
  AND (parked_until_ts_ms IS NULL OR parked_until_ts_ms <= :now)
  AND (CAST(:assignee AS TEXT) IS NULL OR assignee = CAST(:assignee AS TEXT))
  AND (CAST(:plan_id AS TEXT) IS NULL OR plan_id = CAST(:plan_id AS TEXT))
ORDER BY ready_at LIMIT :limit

-- name: trait_add
-- Add a trait to a task.
INSERT INTO task_traits (ws, trait, number) VALUES (:ws, :trait, :number)

-- name: trait_drop
-- Remove a trait from a task.
DELETE FROM task_traits WHERE ws = :ws AND trait = :trait AND number = :number

-- name: count_add
-- Change a count and return the new value.
INSERT INTO work_counts (ws, scope, name, n) VALUES (:ws, :scope, :name, :step)
ON CONFLICT (ws, scope, name) DO UPDATE SET n = work_counts.n + excluded.n
RETURNING n

-- name: counts_of
-- The counts by state in one scope.
SELECT name, n FROM work_counts WHERE ws = :ws AND scope = :scope AND n <> 0 ORDER BY name

-- name: dependency_add
-- Make a task wait for another.
INSERT INTO task_dependencies (ws, task_id, depends_on) VALUES (:ws, :task_id, :depends_on)

-- name: dependencies_clear
-- Remove all dependencies of a task.
DELETE FROM task_dependencies WHERE ws = :ws AND task_id = :task_id

-- name: dependencies_of
-- The tasks a task depends on, with their status.
SELECT d.depends_on, t.status FROM task_dependencies d CROSS JOIN tasks t
WHERE d.ws = :ws AND d.task_id = :task_id AND t.ws = d.ws AND t.task_id = d.depends_on
ORDER BY d.depends_on

-- name: dependents_of
-- The tasks that depend on a task.
SELECT t.* FROM task_dependencies d CROSS JOIN tasks t
WHERE d.ws = :ws AND d.depends_on = :task_id AND t.ws = d.ws AND t.task_id = d.task_id
ORDER BY t.number

-- name: dependency_reaches
-- Whether a task depends on another, directly or indirectly.
WITH RECURSIVE reached (task_id) AS (
    SELECT depends_on FROM task_dependencies WHERE ws = :ws AND task_id = :start
    UNION
    SELECT d.depends_on FROM reached r
    JOIN task_dependencies d ON d.ws = :ws AND d.task_id = r.task_id
)
SELECT task_id FROM reached WHERE task_id = :goal

-- name: step_add
-- Add a step after its siblings.
INSERT INTO steps
    (ws, step_id, task_id, parent_id, ordinal, title, detail, confirmed, proof_modes, completed,
     blocked, created_at_ms, updated_at_ms)
VALUES
    (:ws, :step_id, :task_id, :parent_id, :ordinal, :title, :detail, '[]', :proof_modes, 0,
     0, :now, :now)

-- name: steps_of_task
-- All steps of a task.
SELECT * FROM steps WHERE ws = :ws AND task_id = :task_id ORDER BY ordinal, step_id

-- name: step_by_id
-- One step.
SELECT * FROM steps WHERE ws = :ws AND step_id = :step_id

-- name: step_set
-- Set all changeable fields of a step.
UPDATE steps SET title = :title, detail = :detail, confirmed = :confirmed,
    proof_modes = :proof_modes, completed = :completed, blocked = :blocked,
    block_reason = :block_reason, updated_at_ms = :now, completed_at_ms = :completed_at_ms
WHERE ws = :ws AND step_id = :step_id

-- name: step_delete
-- Delete a step, after its proof and lease.
DELETE FROM steps WHERE ws = :ws AND step_id = :step_id

-- name: step_proofs_delete
-- Delete a step's proof; the log keeps the record.
DELETE FROM step_proofs WHERE ws = :ws AND step_id = :step_id

-- name: step_lease_delete
-- Delete a step's lease.
DELETE FROM step_leases WHERE ws = :ws AND step_id = :step_id

-- name: proof_add
-- Add a receipt to a step.
INSERT INTO step_proofs
    (ws, seq, number, step_id, checkpoint, kind, proves, receipt, artifact, ref)
VALUES (:ws, :seq, :number, :step_id, :checkpoint, :kind, :proves, :receipt, :artifact, :ref)

-- name: proofs_by_ref
-- The steps that a record serves as proof for, newest first.
SELECT DISTINCT p.seq, s.task_id, s.title, s.completed
FROM step_proofs p JOIN steps s ON s.ws = :ws AND s.step_id = p.step_id
WHERE p.ws = :ws AND p.ref = :ref
ORDER BY p.seq DESC LIMIT 50

-- name: proofs_of_task
-- The number of proofs and receipts per step and checkpoint.
SELECT p.step_id, p.checkpoint, SUM(p.proves) AS proofs, COUNT(*) AS receipts
FROM steps s CROSS JOIN step_proofs p
WHERE s.ws = :ws AND s.task_id = :task_id AND p.ws = s.ws AND p.step_id = s.step_id
GROUP BY p.step_id, p.checkpoint

-- name: proofs_newest_of_task
-- The newest receipts on the steps of a task.
SELECT p.seq, p.number, p.step_id, p.checkpoint, p.proves, p.receipt
FROM steps s CROSS JOIN step_proofs p
WHERE s.ws = :ws AND s.task_id = :task_id AND p.ws = s.ws AND p.step_id = s.step_id
ORDER BY p.seq DESC, p.number LIMIT :limit

-- name: proofs_whole_of_task
-- All receipts on the steps of a task.
SELECT p.* FROM steps s CROSS JOIN step_proofs p
WHERE s.ws = :ws AND s.task_id = :task_id AND p.ws = s.ws AND p.step_id = s.step_id
ORDER BY p.seq, p.number

-- name: proofs_newest_of_step
-- The newest receipts on one step.
SELECT seq, number, step_id, checkpoint, proves, receipt FROM step_proofs
WHERE ws = :ws AND step_id = :step_id
ORDER BY seq DESC, number LIMIT :limit

-- name: proofs_after
-- The receipts recorded after a seq and up to another.
SELECT * FROM step_proofs WHERE ws = :ws AND seq > :after AND seq <= :upto
ORDER BY seq, number LIMIT :limit

-- name: steps_page
-- Steps in order of creation.
SELECT * FROM steps WHERE ws = :ws AND step_id > :after ORDER BY step_id LIMIT :limit

-- name: dependencies_all
-- All dependencies between tasks.
SELECT task_id, depends_on FROM task_dependencies WHERE ws = :ws ORDER BY task_id, depends_on

-- name: lease_get
-- A step's lease, unless it has expired.
SELECT holder, claimed_event, expires_event, expires_at_ms FROM step_leases
WHERE ws = :ws AND step_id = :step_id AND expires_event > :now_event AND expires_at_ms > :now

-- name: leases_of_task
-- The unexpired leases on a task's steps.
SELECT l.step_id, l.holder FROM steps s CROSS JOIN step_leases l
WHERE s.ws = :ws AND s.task_id = :task_id AND l.ws = s.ws AND l.step_id = s.step_id
  AND l.expires_event > :now_event AND l.expires_at_ms > :now

-- name: lease_take
-- Claim a step that is free, expired, already held by the caller, or taken by force; or nothing.
INSERT INTO step_leases (ws, step_id, holder, claimed_event, expires_event, expires_at_ms)
VALUES (:ws, :step_id, :holder, :now_event, :expires_event, :expires_at_ms)
ON CONFLICT (ws, step_id) DO UPDATE SET holder = excluded.holder,
    claimed_event = excluded.claimed_event, expires_event = excluded.expires_event,
    expires_at_ms = excluded.expires_at_ms
WHERE step_leases.holder = excluded.holder
   OR step_leases.expires_event <= CAST(:now_event AS INTEGER)
   OR step_leases.expires_at_ms <= CAST(:now AS INTEGER)
   OR CAST(:force AS INTEGER) = 1
RETURNING holder, claimed_event, expires_event, expires_at_ms

-- name: lease_renew
-- Extend the holder's unexpired lease; or nothing.
UPDATE step_leases SET expires_event = :expires_event, expires_at_ms = :expires_at_ms
WHERE ws = :ws AND step_id = :step_id AND holder = :holder
  AND expires_event > :now_event AND expires_at_ms > :now
RETURNING holder, claimed_event, expires_event, expires_at_ms

-- name: lease_release
-- Release the holder's lease; or nothing.
DELETE FROM step_leases WHERE ws = :ws AND step_id = :step_id AND holder = :holder
RETURNING step_id

-- name: events_after
-- Events of plans and tasks, oldest first.
SELECT seq, ts_ms, stream, subject, kind, actor, data
FROM log WHERE ws = :ws AND stream = 'work' AND seq > :after ORDER BY seq LIMIT :limit

-- name: events_of_before
-- Events of one plan or task, newest first.
SELECT seq, ts_ms, stream, subject, kind, actor, data
FROM log WHERE ws = :ws AND subject = :subject AND seq < :before AND stream = 'work'
ORDER BY seq DESC LIMIT :limit

-- name: event_one
-- One event.
SELECT seq, ts_ms, stream, subject, kind, actor, data
FROM log WHERE ws = :ws AND seq = :seq AND stream = 'work'

-- name: event_last
-- The newest event of any plan or task.
SELECT seq, ts_ms FROM log WHERE ws = :ws AND stream = 'work' ORDER BY seq DESC LIMIT 1

-- name: acted_on_last
-- The tasks that an actor changed within the newest events, latest first.
SELECT subject FROM (
    SELECT seq, subject, actor FROM log WHERE ws = :ws AND stream = 'work'
    ORDER BY seq DESC LIMIT :newest
) AS recent
WHERE actor = :actor AND subject LIKE 'TASK-%' GROUP BY subject ORDER BY MAX(seq) DESC LIMIT :limit

-- name: parked_due
-- How many parked tasks of a plan are due.
SELECT COUNT(*) FROM tasks
WHERE ws = :ws AND plan_id = :plan_id AND status = 'PARKED'
  AND parked_until_ts_ms IS NOT NULL AND parked_until_ts_ms <= :now

-- name: parked_next
-- When the next parked task of a plan is due.
SELECT MIN(parked_until_ts_ms) FROM tasks
WHERE ws = :ws AND plan_id = :plan_id AND status = 'PARKED'
  AND parked_until_ts_ms IS NOT NULL AND parked_until_ts_ms > :now

-- name: stale_count
-- How many open tasks of a plan were not updated since a time, counted up to a limit.
SELECT COUNT(*) FROM (
    SELECT 1 FROM tasks
    WHERE ws = :ws AND plan_id = :plan_id AND status IN ('TODO', 'ACTIVE', 'PARKED')
      AND updated_at_ms < :before
    LIMIT :limit
) AS stale

-- name: artifacts_held
-- The artifacts that receipts point at.
SELECT DISTINCT artifact FROM step_proofs WHERE ws = :ws AND artifact IS NOT NULL

-- name: processes_cited
-- The background processes that receipts point at.
SELECT DISTINCT ref FROM step_proofs WHERE ws = :ws AND ref LIKE 'PROC-%'

-- name: counts_kept
-- All counts by state, for checks.
SELECT scope, name, n FROM work_counts WHERE ws = :ws AND scope <> 'events' AND n <> 0

-- name: traits_kept
-- All traits, for checks.
SELECT trait, number FROM task_traits WHERE ws = :ws

-- name: leases_clamp
-- Shorten leases that were taken under a clock that was ahead.
UPDATE step_leases SET expires_at_ms = :longest WHERE ws = :ws AND expires_at_ms > :longest
