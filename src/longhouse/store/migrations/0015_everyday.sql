-- What a job leaves for people: changes waiting to be applied, and an identity in the crew.

-- Why the changes of a job that is otherwise done are not in the work tree yet; NULL for none.
ALTER TABLE jobs ADD COLUMN changes TEXT;

-- Whether the job has an identity in the crew, which may hold files.
ALTER TABLE jobs ADD COLUMN in_crew INTEGER NOT NULL DEFAULT 0;

-- PostgreSQL fixes a view's columns when it is created: recreate it with the current ones.
DROP VIEW urgent_jobs;

CREATE VIEW urgent_jobs AS SELECT *,
    CASE WHEN status NOT IN ('QUEUED', 'RUNNING') THEN 0
         WHEN last_question_seq > last_manager_seq THEN 4
         WHEN last_error_seq > last_claim_seq OR last_proof_gate_seq > last_proof_seq THEN 3
         WHEN status = 'RUNNING' THEN 2
         ELSE 1 END AS urgency
FROM jobs;
