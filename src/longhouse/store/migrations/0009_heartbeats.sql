-- Jobs: a sign of life changes nothing that an index knows of, so it costs one row and no more.

-- When claims end is looked up among the jobs that run: those are few, and all of them move on.
DROP INDEX jobs_leased;

-- Urgency was stored with every change; now an index derives it, for the jobs that are not over.
DROP INDEX jobs_active;
ALTER TABLE jobs DROP COLUMN urgency;

CREATE INDEX jobs_active ON jobs (ws, (
    CASE WHEN status NOT IN ('QUEUED', 'RUNNING') THEN 0
         WHEN last_question_seq > last_manager_seq THEN 4
         WHEN last_error_seq > last_claim_seq OR last_proof_gate_seq > last_proof_seq THEN 3
         WHEN status = 'RUNNING' THEN 2
         ELSE 1 END
) DESC, n) WHERE status IN ('QUEUED', 'RUNNING');

CREATE VIEW urgent_jobs AS SELECT *,
    CASE WHEN status NOT IN ('QUEUED', 'RUNNING') THEN 0
         WHEN last_question_seq > last_manager_seq THEN 4
         WHEN last_error_seq > last_claim_seq OR last_proof_gate_seq > last_proof_seq THEN 3
         WHEN status = 'RUNNING' THEN 2
         ELSE 1 END AS urgency
FROM jobs;

-- only postgres:
ALTER TABLE jobs SET (fillfactor = 70); -- room for a job's next states beside it
-- end
