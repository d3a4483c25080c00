-- What an operator needs: an agent that reports for its job, limits of a job, and what was used.

-- The connection of the runner's agent: it may report on this one claim, and do nothing else with it.
ALTER TABLE jobs ADD COLUMN claim_agent TEXT;
