-- The bytes of artifacts, where the database holds them (PostgreSQL, unless a folder is set).
-- A body is a run of chunks of 8000 bytes; a blob or a growing log points at one. A body that
-- nothing points at is garbage: an unfinished put, or one that was replaced.
CREATE TABLE artifact_bodies (
    body    INTEGER PRIMARY KEY,
    made_ms INTEGER NOT NULL,
    doomed  INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE artifact_chunks (
    body INTEGER NOT NULL,
    n    INTEGER NOT NULL,
    data BLOB    NOT NULL,
    PRIMARY KEY (body, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE artifact_blobs (
    digest     TEXT    NOT NULL PRIMARY KEY,
    body       INTEGER NOT NULL,
    size       INTEGER NOT NULL,
    touched_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX artifact_blobs_of_body ON artifact_blobs (body);

CREATE TABLE artifact_logs (
    name       TEXT    NOT NULL PRIMARY KEY,
    body       INTEGER NOT NULL,
    size       INTEGER NOT NULL DEFAULT 0,
    gap_at     INTEGER NOT NULL DEFAULT 0,
    gap_bytes  INTEGER NOT NULL DEFAULT 0,
    gap_lines  INTEGER NOT NULL DEFAULT 0,
    shared     INTEGER NOT NULL DEFAULT 0,
    touched_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX artifact_logs_of_body ON artifact_logs (body);

-- only postgres:
-- A chunk fills a page, so that it needs neither TOAST nor compression.
ALTER TABLE artifact_chunks ALTER COLUMN data SET STORAGE PLAIN;
-- end
