-- Up to where an agent or a connection has seen what happened.
ALTER TABLE standings ADD COLUMN seen_seq INTEGER;
