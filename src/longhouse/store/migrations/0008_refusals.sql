-- Crew: standing refusals, and what another tracker last reported.

CREATE INDEX reservations_until ON reservations (ws, expires_at_ms) WHERE state = 'active';

-- Standing refusals: who wants which scope and why, what is in the way, the state of its owner
-- then, and the seq of the INCURSION that reported it.
CREATE TABLE incursions (
    ws              INTEGER NOT NULL,
    agent_id        TEXT    NOT NULL,
    path            TEXT    NOT NULL,
    below           INTEGER NOT NULL,
    bead_id         TEXT    NOT NULL,
    reservation_seq INTEGER NOT NULL,
    owner_state     TEXT    NOT NULL,
    seq             INTEGER NOT NULL,
    PRIMARY KEY (ws, agent_id, path, below, bead_id, reservation_seq),
    FOREIGN KEY (ws, reservation_seq) REFERENCES reservations (ws, seq)
) STRICT, WITHOUT ROWID;

-- What another tracker last reported about its items, to compare with its next report. The row
-- without an id is the digest of the whole report.
CREATE TABLE tracked (
    ws            INTEGER NOT NULL,
    bead_id       TEXT    NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    told          TEXT    NOT NULL,
    PRIMARY KEY (ws, bead_id)
) STRICT, WITHOUT ROWID;

-- Ended reservations are counted when they end; until now they were counted on request.
INSERT INTO counters (ws, name, value)
SELECT ws, 'reservations_' || state, COUNT(*) FROM reservations
WHERE state IN ('released', 'expired') GROUP BY ws, state;
