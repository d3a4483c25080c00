-- Whether a token is that of a runner, which may host background processes and get what is typed.
ALTER TABLE tokens ADD COLUMN runner INTEGER NOT NULL DEFAULT 0;
