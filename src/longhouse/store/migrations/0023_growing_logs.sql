-- Every append to a log needs the size of all growing logs: an index of only those.
CREATE INDEX artifacts_growing ON artifacts (ws, created_seq) WHERE state = 'growing';
