-- Artifacts: the metadata of stored bytes; the bytes themselves are outside, by digest.

CREATE TABLE artifacts (
    ws            INTEGER NOT NULL,
    handle        TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    media_type    TEXT    NOT NULL,
    owner         TEXT,
    state         TEXT    NOT NULL CHECK (state IN ('growing', 'sealed')),
    digest        TEXT,
    size          INTEGER NOT NULL DEFAULT 0,
    stored        INTEGER NOT NULL DEFAULT 0,
    cap           INTEGER,
    gap_at        INTEGER,
    gap_bytes     INTEGER NOT NULL DEFAULT 0,
    gap_lines     INTEGER NOT NULL DEFAULT 0,
    created_at_ms INTEGER NOT NULL,
    sealed_at_ms  INTEGER,
    expires_at_ms INTEGER,
    created_seq   INTEGER NOT NULL,
    last_seq      INTEGER NOT NULL,
    PRIMARY KEY (ws, handle),
    CHECK ((state = 'sealed') = (digest IS NOT NULL))
) STRICT;

CREATE INDEX artifacts_of_digest ON artifacts (digest, ws) WHERE digest IS NOT NULL;

CREATE INDEX artifacts_by_age ON artifacts (ws, created_seq);

CREATE INDEX artifacts_expiring ON artifacts (ws, expires_at_ms) WHERE expires_at_ms IS NOT NULL;

CREATE TABLE artifact_usage (
    ws    INTEGER NOT NULL PRIMARY KEY,
    bytes INTEGER NOT NULL
) STRICT;
