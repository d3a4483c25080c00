-- Wake-ups: who is notified when a background process ends, according to the operator's rules.

CREATE TABLE tool_wakeups (
    ws          INTEGER NOT NULL,
    n           INTEGER NOT NULL,
    rule        TEXT    NOT NULL,
    withdrawn   INTEGER NOT NULL DEFAULT 0,
    created_seq INTEGER NOT NULL,
    last_seq    INTEGER NOT NULL,
    PRIMARY KEY (ws, n)
) STRICT, WITHOUT ROWID;
