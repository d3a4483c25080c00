-- Crew: files changed outside a reservation, and who had released files while that happened.

CREATE INDEX log_of_changes_outside ON log (ws, kind, seq)
WHERE stream = 'crew' AND kind = 'changed_outside';

CREATE INDEX reservations_given_back ON reservations (ws, path, released_at_ms)
WHERE state = 'released';
