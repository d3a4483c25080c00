-- Jobs: the immutable spec and, beside it, who runs it and how far it is.

CREATE TABLE jobs (
    ws                  INTEGER NOT NULL REFERENCES workspaces (ws),
    job_id              TEXT    NOT NULL,
    title               TEXT    NOT NULL,
    kind                TEXT    NOT NULL,
    priority            INTEGER NOT NULL,
    prompt              TEXT    NOT NULL,
    spec                TEXT    NOT NULL,
    task_id             TEXT,
    anchor_id           TEXT,
    created_at_ms       INTEGER NOT NULL,
    created_seq         INTEGER NOT NULL,
    status              TEXT    NOT NULL,
    revision            INTEGER NOT NULL,
    runner_id           TEXT,
    claim_expires_at_ms INTEGER,
    summary             TEXT,
    refs                TEXT    NOT NULL DEFAULT '[]',
    last_seq            INTEGER NOT NULL,
    updated_at_ms       INTEGER NOT NULL,
    completed_at_ms     INTEGER,
    PRIMARY KEY (ws, job_id)
) STRICT;
