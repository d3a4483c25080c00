-- Who created a job: it may answer and cancel it without being a manager.

-- The owner of the token that created the job; empty if it is not known here.
ALTER TABLE jobs ADD COLUMN creator TEXT NOT NULL DEFAULT '';

-- The identity that the creator had proved, if any.
ALTER TABLE jobs ADD COLUMN creator_agent TEXT;

-- PostgreSQL fixes a view's columns when it is created: recreate it with the current ones.
DROP VIEW urgent_jobs;

CREATE VIEW urgent_jobs AS SELECT *,
    CASE WHEN status NOT IN ('QUEUED', 'RUNNING') THEN 0
         WHEN last_question_seq > last_manager_seq THEN 4
         WHEN last_error_seq > last_claim_seq OR last_proof_gate_seq > last_proof_seq THEN 3
         WHEN status = 'RUNNING' THEN 2
         ELSE 1 END AS urgency
FROM jobs;
