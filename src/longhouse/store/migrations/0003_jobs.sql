-- Jobs: the request (never changed), its progress, what it waits for, and who can run it.

CREATE TABLE job_specs (
    ws     INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    prompt TEXT    NOT NULL,
    meta   TEXT    NOT NULL,
    PRIMARY KEY (ws, n)
) STRICT;

CREATE TABLE jobs (
    ws                  INTEGER NOT NULL,
    n                   INTEGER NOT NULL,
    title               TEXT    NOT NULL,
    kind                TEXT    NOT NULL,
    priority            INTEGER NOT NULL,
    task_id             TEXT,
    anchor_id           TEXT,
    route               TEXT    NOT NULL,
    require_proof       INTEGER NOT NULL,
    max_attempts        INTEGER NOT NULL,
    retry_backoff_ms    INTEGER NOT NULL,
    created_at_ms       INTEGER NOT NULL,
    created_seq         INTEGER NOT NULL,

    status              TEXT    NOT NULL,
    revision            INTEGER NOT NULL DEFAULT 0,
    runner_id           TEXT,
    claim_expires_at_ms INTEGER,
    waits               INTEGER NOT NULL DEFAULT 0,
    not_before_ms       INTEGER NOT NULL DEFAULT 0,
    failures            INTEGER NOT NULL DEFAULT 0,
    percent             INTEGER,
    summary             TEXT,
    refs                TEXT    NOT NULL DEFAULT '[]',
    runtime             TEXT    NOT NULL DEFAULT '{}',
    input_tokens        INTEGER NOT NULL DEFAULT 0,
    output_tokens       INTEGER NOT NULL DEFAULT 0,
    cost_microusd       INTEGER NOT NULL DEFAULT 0,
    updated_at_ms       INTEGER NOT NULL,
    last_heartbeat_ms   INTEGER,
    completed_at_ms     INTEGER,

    -- Attention is a comparison of the newest record of each kind: no window, nothing to miss.
    last_seq            INTEGER NOT NULL,
    last_claim_seq      INTEGER NOT NULL DEFAULT 0,
    last_question_seq   INTEGER NOT NULL DEFAULT 0,
    last_manager_seq    INTEGER NOT NULL DEFAULT 0,
    last_proof_gate_seq INTEGER NOT NULL DEFAULT 0,
    last_proof_seq      INTEGER NOT NULL DEFAULT 0,
    last_error_seq      INTEGER NOT NULL DEFAULT 0,
    urgency             INTEGER NOT NULL GENERATED ALWAYS AS (
        CASE WHEN status NOT IN ('QUEUED', 'RUNNING') THEN 0
             WHEN last_question_seq > last_manager_seq THEN 4
             WHEN last_error_seq > last_claim_seq OR last_proof_gate_seq > last_proof_seq THEN 3
             WHEN status = 'RUNNING' THEN 2
             ELSE 1 END
    ) STORED,
    PRIMARY KEY (ws, n)
) STRICT;

-- Only jobs that can be claimed now, so a claim costs the same however many are done or waiting.
CREATE INDEX jobs_ready ON jobs (ws, route, priority DESC, n)
WHERE status = 'QUEUED' AND waits = 0 AND not_before_ms = 0;

CREATE INDEX jobs_delayed ON jobs (ws, not_before_ms)
WHERE status = 'QUEUED' AND waits = 0 AND not_before_ms > 0;

CREATE INDEX jobs_leased ON jobs (ws, claim_expires_at_ms) WHERE status = 'RUNNING';

CREATE INDEX jobs_of_runner ON jobs (ws, runner_id) WHERE status = 'RUNNING';

CREATE INDEX jobs_active ON jobs (ws, urgency DESC, n) WHERE status IN ('QUEUED', 'RUNNING');

CREATE INDEX jobs_by_status ON jobs (ws, status, n);

CREATE INDEX jobs_of_task ON jobs (ws, task_id, n) WHERE task_id IS NOT NULL;

CREATE INDEX jobs_of_anchor ON jobs (ws, anchor_id, n) WHERE anchor_id IS NOT NULL;

CREATE TABLE job_after (
    ws      INTEGER NOT NULL,
    after_n INTEGER NOT NULL,
    n       INTEGER NOT NULL,
    PRIMARY KEY (ws, after_n, n)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_after_of ON job_after (ws, n, after_n);

CREATE TABLE runner_leases (
    ws                  INTEGER NOT NULL,
    runner_id           TEXT    NOT NULL,
    status              TEXT    NOT NULL,
    active_job_id       TEXT,
    lease_expires_at_ms INTEGER NOT NULL,
    online              INTEGER NOT NULL,
    offers              TEXT    NOT NULL,
    meta                TEXT    NOT NULL,
    created_at_ms       INTEGER NOT NULL,
    updated_at_ms       INTEGER NOT NULL,
    PRIMARY KEY (ws, runner_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX runner_leases_by_expiry ON runner_leases (ws, lease_expires_at_ms);
