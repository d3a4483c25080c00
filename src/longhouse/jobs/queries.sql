-- name: job_add
-- A queued job; its spec never changes after this.
INSERT INTO jobs
    (ws, job_id, title, kind, priority, prompt, spec, task_id, anchor_id, created_at_ms,
     created_seq, status, revision, last_seq, updated_at_ms)
VALUES
    (:ws, :job_id, :title, :kind, :priority, :prompt, :spec, :task_id, :anchor_id, :now,
     :seq, 'QUEUED', 0, :seq, :now)
RETURNING *

-- name: job_by_id
-- One job.
SELECT * FROM jobs WHERE ws = :ws AND job_id = :job_id

-- name: job_claim
-- Take a queued job, or with allow_stale one whose claim has run out; the row or nothing.
UPDATE jobs SET status = 'RUNNING', revision = revision + 1, runner_id = :runner_id,
    claim_expires_at_ms = :expires, last_seq = :seq, updated_at_ms = :now
WHERE ws = :ws AND job_id = :job_id
  AND (status = 'QUEUED'
       OR (:allow_stale = 1 AND status = 'RUNNING' AND claim_expires_at_ms <= :now))
RETURNING *

-- name: job_report
-- Renew the claim; the fence is runner and revision.
UPDATE jobs SET claim_expires_at_ms = :expires, last_seq = :seq, updated_at_ms = :now
WHERE ws = :ws AND job_id = :job_id AND status = 'RUNNING'
  AND runner_id = :runner_id AND revision = :revision
RETURNING *

-- name: job_complete
-- End a job; the fence is runner and revision.
UPDATE jobs SET status = :status, revision = revision + 1, claim_expires_at_ms = NULL,
    summary = :summary, refs = :refs, last_seq = :seq, updated_at_ms = :now,
    completed_at_ms = :now
WHERE ws = :ws AND job_id = :job_id AND status = 'RUNNING'
  AND runner_id = :runner_id AND revision = :revision
RETURNING *
