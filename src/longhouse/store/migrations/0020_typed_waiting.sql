-- What a task was asked for and has no outcome of: counted at each key that is typed into it, so
-- that costs the same however much was typed before.
CREATE INDEX tool_ops_waiting ON tool_ops (ws, n, kind) WHERE pending = 1;
