-- Work: plans, tasks in plans, steps in tasks, proof on steps, leases of steps.

CREATE TABLE plans (
    ws              INTEGER NOT NULL,
    plan_id         TEXT    NOT NULL,
    number          INTEGER NOT NULL,
    title           TEXT    NOT NULL,
    description     TEXT,
    context         TEXT,
    contract        TEXT,
    contract_data   TEXT,
    checklist       TEXT    NOT NULL,
    checklist_at    INTEGER NOT NULL,
    checklist_doc   TEXT,
    status          TEXT    NOT NULL,
    priority        TEXT    NOT NULL,
    tags            TEXT    NOT NULL,
    revision        INTEGER NOT NULL,
    created_at_ms   INTEGER NOT NULL,
    updated_at_ms   INTEGER NOT NULL,
    PRIMARY KEY (ws, plan_id)
) STRICT;

CREATE INDEX plans_by_number ON plans (ws, number);

CREATE INDEX plans_open ON plans (ws, number) WHERE status IN ('TODO', 'ACTIVE', 'PARKED');

CREATE INDEX plans_by_status ON plans (ws, status, number);

CREATE INDEX plans_by_title ON plans (ws, title, number);

-- `ready_at` is the position in the list of ready tasks: priority, then age; null if a task is
-- closed, parked indefinitely or waiting for another.
CREATE TABLE tasks (
    ws                 INTEGER NOT NULL,
    task_id            TEXT    NOT NULL,
    number             INTEGER NOT NULL,
    plan_id            TEXT    NOT NULL,
    title              TEXT    NOT NULL,
    description        TEXT,
    context            TEXT,
    domain             TEXT,
    status             TEXT    NOT NULL,
    priority           TEXT    NOT NULL,
    assignee           TEXT,
    reasoning_mode     TEXT    NOT NULL,
    tags               TEXT    NOT NULL,
    parked_until_ts_ms INTEGER,
    steps_total        INTEGER NOT NULL,
    steps_open         INTEGER NOT NULL,
    waits_for          INTEGER NOT NULL,
    ready_at           INTEGER,
    revision           INTEGER NOT NULL,
    created_at_ms      INTEGER NOT NULL,
    updated_at_ms      INTEGER NOT NULL,
    PRIMARY KEY (ws, task_id),
    FOREIGN KEY (ws, plan_id) REFERENCES plans (ws, plan_id)
) STRICT;

CREATE UNIQUE INDEX tasks_by_number ON tasks (ws, number);

CREATE INDEX tasks_ready ON tasks (ws, ready_at) WHERE ready_at IS NOT NULL;

CREATE INDEX tasks_touched ON tasks (ws, plan_id, updated_at_ms)
WHERE status IN ('TODO', 'ACTIVE', 'PARKED');

CREATE INDEX tasks_parked ON tasks (ws, plan_id, parked_until_ts_ms)
WHERE status = 'PARKED' AND parked_until_ts_ms IS NOT NULL;

-- What a task can be listed by, one row per trait: `open`, `status:ACTIVE`, `plan:PLAN-001`,
-- `plan:PLAN-001:ACTIVE`, `assignee:…`, `domain:…`, `tag:…`.
CREATE TABLE task_traits (
    ws     INTEGER NOT NULL,
    trait  TEXT    NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (ws, trait, number)
) STRICT, WITHOUT ROWID;

-- How many plans and tasks are in each state, in total and per plan, and how many events there were.
CREATE TABLE work_counts (
    ws     INTEGER NOT NULL,
    scope  TEXT    NOT NULL,
    name   TEXT    NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (ws, scope, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE task_dependencies (
    ws         INTEGER NOT NULL,
    task_id    TEXT    NOT NULL,
    depends_on TEXT    NOT NULL,
    PRIMARY KEY (ws, task_id, depends_on),
    FOREIGN KEY (ws, task_id) REFERENCES tasks (ws, task_id),
    FOREIGN KEY (ws, depends_on) REFERENCES tasks (ws, task_id)
) STRICT;

CREATE INDEX task_dependents ON task_dependencies (ws, depends_on, task_id);

CREATE TABLE steps (
    ws               INTEGER NOT NULL,
    step_id          TEXT    NOT NULL,
    task_id          TEXT    NOT NULL,
    parent_id        TEXT,
    ordinal          INTEGER NOT NULL,
    title            TEXT    NOT NULL,
    detail           TEXT    NOT NULL,
    confirmed        TEXT    NOT NULL,
    proof_modes      TEXT    NOT NULL,
    completed        INTEGER NOT NULL,
    blocked          INTEGER NOT NULL,
    block_reason     TEXT,
    created_at_ms    INTEGER NOT NULL,
    updated_at_ms    INTEGER NOT NULL,
    completed_at_ms  INTEGER,
    PRIMARY KEY (ws, step_id),
    FOREIGN KEY (ws, task_id) REFERENCES tasks (ws, task_id),
    FOREIGN KEY (ws, parent_id) REFERENCES steps (ws, step_id)
) STRICT;

CREATE INDEX steps_of_task ON steps (ws, task_id, ordinal);

CREATE INDEX steps_below ON steps (ws, parent_id) WHERE parent_id IS NOT NULL;

-- One receipt for one checkpoint of a step; `seq` is that of the event that recorded it.
CREATE TABLE step_proofs (
    ws          INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    step_id     TEXT    NOT NULL,
    checkpoint  TEXT,
    kind        TEXT    NOT NULL,
    proves      INTEGER NOT NULL,
    receipt     TEXT    NOT NULL,
    artifact    TEXT,
    PRIMARY KEY (ws, seq, number),
    FOREIGN KEY (ws, step_id) REFERENCES steps (ws, step_id)
) STRICT;

CREATE INDEX step_proofs_of_step ON step_proofs (ws, step_id, checkpoint);

CREATE INDEX step_proofs_with_artifact ON step_proofs (ws, artifact) WHERE artifact IS NOT NULL;

-- A lease expires at an event count of the workspace or at a time, whichever comes first.
CREATE TABLE step_leases (
    ws            INTEGER NOT NULL,
    step_id       TEXT    NOT NULL,
    holder        TEXT    NOT NULL,
    claimed_event INTEGER NOT NULL,
    expires_event INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    PRIMARY KEY (ws, step_id),
    FOREIGN KEY (ws, step_id) REFERENCES steps (ws, step_id)
) STRICT;

-- The events of this room in the log, however much other rooms write between them.
CREATE INDEX log_of_work ON log (ws, seq) WHERE stream = 'work';
