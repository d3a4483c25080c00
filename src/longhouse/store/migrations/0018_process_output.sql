-- When and why the output of an ended process was removed; its frames and digests stay.
ALTER TABLE tool_tasks ADD COLUMN removed_at_ms INTEGER;
ALTER TABLE tool_tasks ADD COLUMN removed_why TEXT;
