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

-- name: log_of_subjects
-- Some subjects' rows of one stream in a stretch of the log: of one kind, or without some kinds.
-- differs because the functions that expand JSON arrays differ, and the planner would walk the log.
SELECT seq, ts_ms, stream, subject, kind, actor, data FROM log INDEXED BY log_of_subject
WHERE ws = :ws AND subject IN (SELECT value FROM json_each(:subjects) AS s)
  AND seq > :after AND seq <= :upto AND stream = :stream AND (:kind = '' OR kind = :kind)
  AND kind NOT IN (SELECT value FROM json_each(:without) AS w)
ORDER BY seq

-- name: log_newest_of_subjects
-- Some subjects' newest row of one stream up to a seq.
-- differs because the functions that expand JSON arrays differ, and the planner would walk the log.
SELECT seq, ts_ms, stream, subject, kind, actor, data FROM log
WHERE ws = :ws AND seq IN (
    SELECT (SELECT l.seq FROM log AS l INDEXED BY log_of_subject
            WHERE l.ws = :ws AND l.subject = s.value AND l.stream = :stream AND l.seq <= :upto
              AND (:kind = '' OR l.kind = :kind)
            ORDER BY l.seq DESC LIMIT 1)
    FROM json_each(:subjects) AS s)
