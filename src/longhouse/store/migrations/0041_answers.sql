-- Who answered a request, and what each person has put away.

-- The identity whose reply settled a message that asks for something; only its recipient accepts it.
ALTER TABLE messages ADD COLUMN answered_by TEXT;
ALTER TABLE messages ADD COLUMN answered_at_ms INTEGER;

-- What somebody has dismissed: the id of a record that asked for attention. `who` is a person, else
-- a token.
CREATE TABLE dismissals (
    ws    INTEGER NOT NULL,
    who   TEXT    NOT NULL,
    need  TEXT    NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (ws, who, need)
) STRICT, WITHOUT ROWID;

CREATE INDEX dismissals_by_age ON dismissals (ws, at_ms);
