-- The growing artifact with the output of a task whose host's folder no server can read.
CREATE TABLE tool_logs (
    ws     INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    stream TEXT    NOT NULL,
    handle TEXT    NOT NULL,
    PRIMARY KEY (ws, n, stream)
) STRICT, WITHOUT ROWID;
