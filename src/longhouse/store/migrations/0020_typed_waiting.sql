-- Pending operations of a task, counted for every key typed into it; the index makes that cost the
-- same however much was typed before.
CREATE INDEX tool_ops_waiting ON tool_ops (ws, n, kind) WHERE pending = 1;
