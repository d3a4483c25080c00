-- Tokens of programs: an MCP client on the user's machine, and the agent of a claimed job.

-- The client whose entry starts Longhouse with this token; '' is none.
ALTER TABLE tokens ADD COLUMN client TEXT NOT NULL DEFAULT '';

-- `claim_agent` is the digest of the token of a job's agent, used to look it up. An older release
-- stored the name of a connection here, which matches no token.
CREATE INDEX jobs_of_agent ON jobs (claim_agent) WHERE claim_agent IS NOT NULL;
