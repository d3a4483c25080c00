-- Tokens of programs: an MCP client on the person's machine, and the agent of a claimed job.

-- The client whose entry starts us under this token; '' is none.
ALTER TABLE tokens ADD COLUMN client TEXT NOT NULL DEFAULT '';

-- `claim_agent` is the digest of the token of a job's agent, which is looked up by it. What an older
-- release wrote there named a connection, and fits no token.
CREATE INDEX jobs_of_agent ON jobs (claim_agent) WHERE claim_agent IS NOT NULL;
