-- How far in the log an agent or a connection has read.
ALTER TABLE standings ADD COLUMN seen_seq INTEGER;
