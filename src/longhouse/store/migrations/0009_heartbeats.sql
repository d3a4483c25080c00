-- Jobs: a heartbeat changes no indexed column, so it costs one row update and no more.

-- Expiring claims are looked up among the running jobs, which are few.
DROP INDEX jobs_leased;

-- Urgency was stored with every change; now an index derives it, for unfinished jobs.
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
ALTER TABLE jobs SET (fillfactor = 70); -- room for updates in place
-- end
