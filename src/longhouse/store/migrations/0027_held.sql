-- Processes that came with an import or a restored backup wait until a manager releases them.

-- How the process arrived (`imported`, `restored`); NULL unless it is held.
ALTER TABLE tool_tasks ADD COLUMN held TEXT;
