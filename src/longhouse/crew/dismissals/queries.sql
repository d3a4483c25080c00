-- name: dismissal_add
-- Put a record away; no row if it already was.
INSERT INTO dismissals (ws, who, need, at_ms) VALUES (:ws, :who, :need, :now)
ON CONFLICT (ws, who, need) DO NOTHING
RETURNING need

-- name: dismissal_drop
-- Bring a record back; no row if it was not away.
DELETE FROM dismissals WHERE ws = :ws AND who = :who AND need = :need RETURNING need

-- name: dismissals_of
-- What somebody has put away, newest first.
SELECT need FROM dismissals WHERE ws = :ws AND who = :who ORDER BY at_ms DESC, need LIMIT :limit

-- name: dismissals_forget
-- Forget what was put away long ago.
DELETE FROM dismissals WHERE ws = :ws AND at_ms < :before

-- name: dismissals_clamp
-- Nothing can have been put away later than now.
UPDATE dismissals SET at_ms = :now WHERE ws = :ws AND at_ms > :now
