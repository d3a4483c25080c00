-- For operators: agents that report on their job, limits of a job, and usage.

-- The connection of the runner's agent: it may report on this one claim, and do nothing else with it.
ALTER TABLE jobs ADD COLUMN claim_agent TEXT;

-- When a runner last changed; its earlier declines no longer count.
ALTER TABLE runner_leases ADD COLUMN since_ms INTEGER NOT NULL DEFAULT 0;

-- The limits of a job; 0 is no limit.
ALTER TABLE jobs ADD COLUMN deadline_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN max_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN max_cost_microusd INTEGER NOT NULL DEFAULT 0;

-- How many reports included tokens but not dollars.
ALTER TABLE jobs ADD COLUMN uncosted INTEGER NOT NULL DEFAULT 0;

-- What jobs have used, by the day (counted from 1970) and the agent that used it.
CREATE TABLE agent_use (
    ws            INTEGER NOT NULL,
    day           INTEGER NOT NULL,
    n             INTEGER NOT NULL,
    agent         TEXT    NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_microusd INTEGER NOT NULL,
    uncosted      INTEGER NOT NULL,
    PRIMARY KEY (ws, day, n, agent)
) STRICT, WITHOUT ROWID;
