-- Who did it: claims, runners, identities and idempotency keys belong to the token that made them.

-- 'operator' is the person at the machine; every other owner begins with the id of a token.
ALTER TABLE jobs ADD COLUMN claim_owner TEXT NOT NULL DEFAULT 'operator';
ALTER TABLE runner_leases ADD COLUMN owner TEXT NOT NULL DEFAULT 'operator';

-- The token that last proved to hold an identity, unless it leads; nobody until one has.
ALTER TABLE agents ADD COLUMN owner TEXT;

-- For how long a reservation was asked for: every act of its owner renews it by that much.
ALTER TABLE reservations ADD COLUMN ttl_ms INTEGER NOT NULL DEFAULT 7200000;
UPDATE reservations SET ttl_ms = expires_at_ms - created_at_ms;

-- A token may be for some workspaces only (a JSON list; NULL is all) and for some time only.
ALTER TABLE tokens ADD COLUMN workspaces TEXT;
ALTER TABLE tokens ADD COLUMN expires_at_ms INTEGER;

-- A key belongs to one caller: it is stored behind the name of its owner.
UPDATE idempotency SET key = 'operator
' || key;

-- Where an agent or a connection stands, if not where the workspace does. A focus of '' is none.
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
