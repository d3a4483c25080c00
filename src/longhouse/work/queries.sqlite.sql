-- name: events_after
-- Events of plans and tasks, oldest first.
-- differs because the planner would scan the whole log, which is also sorted by seq.
SELECT seq, ts_ms, stream, subject, kind, actor, data
FROM log INDEXED BY log_of_work
WHERE ws = :ws AND stream = 'work' AND seq > :after ORDER BY seq LIMIT :limit

-- name: event_last
-- The newest event of any plan or task.
-- differs because the planner would scan the whole log, which is also sorted by seq.
SELECT seq, ts_ms FROM log INDEXED BY log_of_work
WHERE ws = :ws AND stream = 'work' ORDER BY seq DESC LIMIT 1

-- name: events_of_before
-- Events of one plan or task, newest first.
-- differs because the planner would scan the events of all others, which are also sorted by seq.
SELECT seq, ts_ms, stream, subject, kind, actor, data
FROM log INDEXED BY log_of_subject
WHERE ws = :ws AND stream = 'work' AND subject = :subject AND seq < :before
ORDER BY seq DESC LIMIT :limit
