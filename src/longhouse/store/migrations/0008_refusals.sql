-- Crew: refusals that stand, and what another tracker last told.

CREATE INDEX reservations_until ON reservations (ws, expires_at_ms) WHERE state = 'active';

-- Refusals that stand: who wants which scope for what, what is in the way, how its owner was then,
-- and the seq of the INCURSION that told of it.
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

-- What another tracker last told of its items, to be compared with what it tells next. The row
-- without an id is the digest of all of it.
CREATE TABLE tracked (
    ws            INTEGER NOT NULL,
    bead_id       TEXT    NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    told          TEXT    NOT NULL,
    PRIMARY KEY (ws, bead_id)
) STRICT, WITHOUT ROWID;

-- Reservations that ended are counted as they end; so far they were counted when asked for.
INSERT INTO counters (ws, name, value)
SELECT ws, 'reservations_' || state, COUNT(*) FROM reservations
WHERE state IN ('released', 'expired') GROUP BY ws, state;
