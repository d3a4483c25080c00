-- Every append to a log asks what all that grow hold: by an index of those alone.
CREATE INDEX artifacts_growing ON artifacts (ws, created_seq) WHERE state = 'growing';
