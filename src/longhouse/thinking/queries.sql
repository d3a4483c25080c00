-- name: card_entry_add
-- Record a trace entry of a card.
INSERT INTO card_entries (ws, card_id, seq) VALUES (:ws, :card_id, :seq)

-- name: card_entries_newest
-- The newest trace entries of a card.
SELECT seq FROM card_entries WHERE ws = :ws AND card_id = :card_id ORDER BY seq DESC LIMIT :limit

-- name: citation_add
-- Record a citation; nothing if it is already recorded.
INSERT INTO citations (ws, ref, citer, kind, seq) VALUES (:ws, :ref, :citer, :kind, :seq)
ON CONFLICT (ws, ref, citer) DO NOTHING

-- name: citations_of
-- What cites a record, newest first.
SELECT citer, kind, seq FROM citations WHERE ws = :ws AND ref = :ref
ORDER BY seq DESC, citer LIMIT :limit

-- name: anchor_one
-- An anchor by its id.
SELECT * FROM anchors WHERE ws = :ws AND anchor_id = :anchor_id

-- name: anchors_all
-- Every anchor, in order of id; there are at most a few thousand.
SELECT * FROM anchors WHERE ws = :ws ORDER BY anchor_id

-- name: anchors_counted
-- How many anchors there are.
SELECT COUNT(*) AS n FROM anchors WHERE ws = :ws

-- name: anchor_put
-- Add or replace an anchor.
INSERT INTO anchors
    (ws, anchor_id, title, kind, status, description, refs, parent_id, depends_on, created_seq,
     created_at_ms, updated_at_ms)
VALUES
    (:ws, :anchor_id, :title, :kind, :status, :description, :refs, :parent_id, :depends_on,
     :created_seq, :created_at_ms, :updated_at_ms)
ON CONFLICT (ws, anchor_id) DO UPDATE SET
    title = excluded.title, kind = excluded.kind, status = excluded.status,
    description = excluded.description, refs = excluded.refs, parent_id = excluded.parent_id,
    depends_on = excluded.depends_on, updated_at_ms = excluded.updated_at_ms

-- name: anchor_drop
-- Delete an anchor that became an alias.
DELETE FROM anchors WHERE ws = :ws AND anchor_id = :anchor_id

-- name: alias_of
-- The anchor that an alias refers to.
SELECT anchor_id FROM anchor_aliases WHERE ws = :ws AND alias = :alias

-- name: aliases_of
-- The aliases of an anchor.
SELECT alias FROM anchor_aliases WHERE ws = :ws AND anchor_id = :anchor_id ORDER BY alias

-- name: aliases_all
-- Every alias.
SELECT alias, anchor_id FROM anchor_aliases WHERE ws = :ws ORDER BY alias

-- name: alias_put
-- Add or move an alias of an anchor.
INSERT INTO anchor_aliases (ws, alias, anchor_id) VALUES (:ws, :alias, :anchor_id)
ON CONFLICT (ws, alias) DO UPDATE SET anchor_id = excluded.anchor_id

-- name: alias_drop
-- Delete an alias.
DELETE FROM anchor_aliases WHERE ws = :ws AND alias = :alias

-- name: aliases_move
-- Move the aliases of one anchor to another.
UPDATE anchor_aliases SET anchor_id = :into WHERE ws = :ws AND anchor_id = :anchor_id
