-- Crew: identities, reservations of files, messages, and the state of work items.

CREATE TABLE agents (
    ws              INTEGER NOT NULL,
    agent_id        TEXT    NOT NULL,
    kind            TEXT    NOT NULL,
    display_name    TEXT    NOT NULL,
    role            TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    token_digest    TEXT    NOT NULL,
    rig             TEXT,
    created_at_ms   INTEGER NOT NULL,
    last_seen_at_ms INTEGER NOT NULL,
    retired_at_ms   INTEGER,
    PRIMARY KEY (ws, agent_id)
) STRICT;

CREATE INDEX agents_by_role ON agents (ws, role, agent_id) WHERE retired_at_ms IS NULL;

-- `path` is relative to the root of the project, so that it is the same in every checkout and on
-- every host; `below` distinguishes `src/*` from `src`.
CREATE TABLE reservations (
    ws             INTEGER NOT NULL,
    seq            INTEGER NOT NULL,
    path           TEXT    NOT NULL,
    below          INTEGER NOT NULL,
    mode           TEXT    NOT NULL,
    agent_id       TEXT    NOT NULL,
    bead_id        TEXT    NOT NULL,
    state          TEXT    NOT NULL,
    created_at_ms  INTEGER NOT NULL,
    expires_at_ms  INTEGER NOT NULL,
    released_at_ms INTEGER,
    taken_over_by  TEXT,
    PRIMARY KEY (ws, seq),
    FOREIGN KEY (ws, agent_id) REFERENCES agents (ws, agent_id)
) STRICT;

CREATE INDEX reservations_by_path ON reservations (ws, path, seq) WHERE state = 'active';

CREATE INDEX reservations_live ON reservations (ws, seq) WHERE state = 'active';

CREATE INDEX reservations_held ON reservations (ws, agent_id, seq) WHERE state = 'active';

CREATE INDEX reservations_for ON reservations (ws, bead_id, seq) WHERE state = 'active';

CREATE INDEX reservations_of_agent ON reservations (ws, agent_id, state, expires_at_ms);

CREATE INDEX reservations_of_bead ON reservations (ws, bead_id, state, expires_at_ms);

CREATE TABLE messages (
    ws            INTEGER NOT NULL,
    seq           INTEGER NOT NULL,
    thread_id     TEXT    NOT NULL,
    bead_id       TEXT    NOT NULL,
    from_agent    TEXT    NOT NULL,
    to_agent      TEXT    NOT NULL,
    category      TEXT    NOT NULL,
    subject       TEXT    NOT NULL,
    body          TEXT    NOT NULL,
    requires_ack  INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    read_at_ms    INTEGER,
    acked_at_ms   INTEGER,
    PRIMARY KEY (ws, seq),
    FOREIGN KEY (ws, to_agent) REFERENCES agents (ws, agent_id)
) STRICT;

CREATE INDEX messages_to ON messages (ws, to_agent, seq);

CREATE INDEX messages_unread ON messages (ws, to_agent, seq) WHERE read_at_ms IS NULL;

CREATE INDEX messages_of_bead ON messages (ws, bead_id, seq);

CREATE INDEX messages_due ON messages (ws, seq) WHERE requires_ack = 1 AND acked_at_ms IS NULL;

-- The crew's state of a work item, updated by every event about it.
CREATE TABLE item_talk (
    ws             INTEGER NOT NULL,
    bead_id        TEXT    NOT NULL,
    unread         INTEGER NOT NULL,
    due            INTEGER NOT NULL,
    last_at_ms     INTEGER NOT NULL,
    last_actor     TEXT,
    latest_subject TEXT,
    PRIMARY KEY (ws, bead_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX log_of_incursions ON log (ws, kind, seq)
WHERE stream = 'crew' AND kind = 'INCURSION';
