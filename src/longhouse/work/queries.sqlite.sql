-- name: events_after
-- What happened to work, oldest first.
-- differs because the planner would walk the whole log, which is sorted by seq as well.
SELECT seq, ts_ms, stream, subject, kind, actor, data
FROM log INDEXED BY log_of_work
WHERE ws = :ws AND stream = 'work' AND seq > :after ORDER BY seq LIMIT :limit

-- name: event_last
-- The newest thing that happened to work.
-- differs because the planner would walk the whole log, which is sorted by seq as well.
SELECT seq, ts_ms FROM log INDEXED BY log_of_work
WHERE ws = :ws AND stream = 'work' ORDER BY seq DESC LIMIT 1

-- name: events_of_before
-- What happened to one plan or task, newest first.
-- differs because the planner would walk the events of all others, which are sorted by seq as well.
SELECT seq, ts_ms, stream, subject, kind, actor, data
FROM log INDEXED BY log_of_subject
WHERE ws = :ws AND stream = 'work' AND subject = :subject AND seq < :before
ORDER BY seq DESC LIMIT :limit
