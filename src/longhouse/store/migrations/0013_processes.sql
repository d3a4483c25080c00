-- Processes: tool tasks, their frames, control operations, hosts, and the policy.

CREATE TABLE tool_tasks (
    ws            INTEGER NOT NULL,
    n             INTEGER NOT NULL,
    name          TEXT,
    tool          TEXT    NOT NULL,
    mode          TEXT    NOT NULL,
    spec          TEXT    NOT NULL,
    owner         TEXT    NOT NULL,
    role          INTEGER NOT NULL,
    agent_id      TEXT,
    job_id        TEXT,
    lifetime      TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    created_seq   INTEGER NOT NULL,

    -- The fold of its frames, kept on write; `verify` folds them again.
    status        TEXT    NOT NULL,
    next_at       INTEGER NOT NULL,
    state         TEXT    NOT NULL,
    last_seq      INTEGER NOT NULL,

    -- The host that has it. A task is started at most once: it never goes to a second host.
    host_id       TEXT,
    PRIMARY KEY (ws, n)
) STRICT;

CREATE UNIQUE INDEX tool_tasks_named ON tool_tasks (ws, name)
WHERE name IS NOT NULL AND status IN ('queued', 'running');

CREATE INDEX tool_tasks_by_name ON tool_tasks (ws, name, n) WHERE name IS NOT NULL;

CREATE INDEX tool_tasks_waiting ON tool_tasks (ws, n) WHERE status = 'queued' AND host_id IS NULL;

CREATE INDEX tool_tasks_held ON tool_tasks (ws, host_id, n)
WHERE host_id IS NOT NULL AND status IN ('queued', 'running');

CREATE INDEX tool_tasks_by_status ON tool_tasks (ws, status, n);

CREATE INDEX tool_tasks_of_agent ON tool_tasks (ws, agent_id, n) WHERE agent_id IS NOT NULL;

CREATE INDEX tool_tasks_of_job ON tool_tasks (ws, job_id, n) WHERE job_id IS NOT NULL;

-- The position of each frame of a task in the log; `at` is its position in its stream.
CREATE TABLE tool_frames (
    ws  INTEGER NOT NULL,
    n   INTEGER NOT NULL,
    at  INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (ws, n, at)
) STRICT, WITHOUT ROWID;

-- Control operations, in the order in which they are applied.
CREATE TABLE tool_ops (
    ws      INTEGER NOT NULL,
    n       INTEGER NOT NULL,
    k       INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    payload TEXT    NOT NULL,
    pending INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    PRIMARY KEY (ws, n, k)
) STRICT, WITHOUT ROWID;

CREATE INDEX tool_ops_pending ON tool_ops (ws, seq) WHERE pending = 1;

-- The process host of one workspace on one machine, and the runner that speaks for it.
CREATE TABLE tool_hosts (
    ws        INTEGER NOT NULL,
    host_id   TEXT    NOT NULL,
    runner_id TEXT    NOT NULL,
    owner     TEXT    NOT NULL,
    revision  INTEGER NOT NULL,
    seen_ms   INTEGER NOT NULL,
    PRIMARY KEY (ws, host_id)
) STRICT, WITHOUT ROWID;

-- What background processes may do, in addition to the profile of the house.
CREATE TABLE tool_rules (
    ws          INTEGER NOT NULL,
    n           INTEGER NOT NULL,
    rule        TEXT    NOT NULL,
    withdrawn   INTEGER NOT NULL DEFAULT 0,
    created_seq INTEGER NOT NULL,
    last_seq    INTEGER NOT NULL,
    PRIMARY KEY (ws, n)
) STRICT, WITHOUT ROWID;
