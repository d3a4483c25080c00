-- Ownership: claims, runners, identities and idempotency keys belong to the token that made them.

-- 'operator' is the person at the machine; every other owner begins with the id of a token.
ALTER TABLE jobs ADD COLUMN claim_owner TEXT NOT NULL DEFAULT 'operator';
ALTER TABLE runner_leases ADD COLUMN owner TEXT NOT NULL DEFAULT 'operator';

-- The token that last proved to hold an identity, unless it is a manager's; empty until one has.
ALTER TABLE agents ADD COLUMN owner TEXT;

-- The requested duration of a reservation; every action of its owner renews it for that long.
ALTER TABLE reservations ADD COLUMN ttl_ms INTEGER NOT NULL DEFAULT 7200000;
UPDATE reservations SET ttl_ms = expires_at_ms - created_at_ms;

-- A token may be limited to some workspaces (a JSON list; NULL is all) and to some time.
ALTER TABLE tokens ADD COLUMN workspaces TEXT;
ALTER TABLE tokens ADD COLUMN expires_at_ms INTEGER;

-- A key belongs to one caller: it is stored with its owner's name as a prefix.
UPDATE idempotency SET key = 'operator
' || key;

-- The focus and checkout of an agent or a connection, if not the workspace's. '' is no focus.
CREATE TABLE standings (
    ws            INTEGER NOT NULL,
    who           TEXT    NOT NULL,
    focus         TEXT,
    branch_id     INTEGER REFERENCES branches (branch_id),
    updated_at_ms INTEGER NOT NULL,
    PRIMARY KEY (ws, who)
) STRICT, WITHOUT ROWID;

CREATE INDEX standings_by_focus ON standings (ws, focus) WHERE focus IS NOT NULL;

CREATE INDEX standings_by_age ON standings (ws, updated_at_ms);
