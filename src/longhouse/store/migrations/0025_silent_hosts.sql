-- When a process host stopped answering the runner that speaks for it; NULL while it answers.
ALTER TABLE tool_hosts ADD COLUMN stalled_ms INTEGER;
