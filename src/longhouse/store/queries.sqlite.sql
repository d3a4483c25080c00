-- name: log_of_subject_after
-- A page of one subject's history, oldest first.
-- differs because the planner would walk the whole log, which is sorted by seq as well.
SELECT seq, ts_ms, stream, subject, kind, actor, data
FROM log INDEXED BY log_of_subject
WHERE ws = :ws AND subject = :subject AND seq > :after ORDER BY seq LIMIT :limit

-- name: log_of_subject_before
-- A page of one subject's history, newest first.
-- differs because the planner would walk the whole log, which is sorted by seq as well.
SELECT seq, ts_ms, stream, subject, kind, actor, data
FROM log INDEXED BY log_of_subject
WHERE ws = :ws AND subject = :subject AND seq < :before ORDER BY seq DESC LIMIT :limit
