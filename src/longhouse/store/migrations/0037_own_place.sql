-- The connection that an identity proved itself on last: calls on it act as that identity.
ALTER TABLE agents ADD COLUMN connection TEXT;

CREATE UNIQUE INDEX agents_by_connection ON agents (ws, connection) WHERE connection IS NOT NULL;

-- Who was here lately.
CREATE INDEX agents_by_sight ON agents (ws, last_seen_at_ms) WHERE retired_at_ms IS NULL;

-- The token and proved identity that claimed a job or started a process. They go on with it on
-- another connection, which the owner alone, a token and its connection, could not.
ALTER TABLE jobs ADD COLUMN claim_identity TEXT;

ALTER TABLE tool_tasks ADD COLUMN identity TEXT;
