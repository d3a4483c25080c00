-- A control operation is requested without a row of the log: `turn` orders the operations, and `actor` goes into the frame
-- of the outcome. One that has its outcome is needed only while it is the last of a running task, as a number.
ALTER TABLE tool_ops RENAME COLUMN seq TO turn;
ALTER TABLE tool_ops ADD COLUMN actor TEXT;
DELETE FROM tool_ops
WHERE pending = 0
  AND k < (SELECT MAX(o.k) FROM tool_ops AS o WHERE o.ws = tool_ops.ws AND o.n = tool_ops.n);
DELETE FROM tool_ops
WHERE EXISTS (
    SELECT 1 FROM tool_tasks AS t
    WHERE t.ws = tool_ops.ws AND t.n = tool_ops.n AND t.status NOT IN ('queued', 'running')
);
