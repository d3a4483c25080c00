-- name: branch_by_name
-- A branch with its base.
SELECT branch_id, name, base_branch_id, base_seq FROM branches WHERE ws = :ws AND name = :name

-- name: branch_by_id
-- A branch with its base, on the way down a chain.
SELECT branch_id, name, base_branch_id, base_seq FROM branches WHERE branch_id = :branch_id

-- name: branch_add
-- A new branch; none when the name is taken.
INSERT INTO branches (ws, name, base_branch_id, base_seq, created_at_ms)
VALUES (:ws, :name, :base_branch_id, :base_seq, :now)
ON CONFLICT (ws, name) DO NOTHING
RETURNING branch_id, name, base_branch_id, base_seq

-- name: document_id
-- The document of that name on exactly this branch.
SELECT doc_id FROM documents WHERE branch_id = :branch_id AND doc = :doc

-- name: document_add
-- A new document on a branch.
INSERT INTO documents (ws, branch_id, doc) VALUES (:ws, :branch_id, :doc)
ON CONFLICT (branch_id, doc) DO NOTHING
RETURNING doc_id

-- name: entry_add
-- One entry; none when its source event was ingested before.
INSERT INTO doc_entries
    (ws, seq, doc_id, ts_ms, kind, title, format, meta, content, source_event_id)
VALUES (:ws, :seq, :doc_id, :ts_ms, :kind, :title, :format, :meta, :content, :source_event_id)
ON CONFLICT DO NOTHING
RETURNING seq

-- name: entries_before
-- A page of one document from the tail, newest first.
SELECT seq, ts_ms, kind, title, format, meta, content
FROM doc_entries WHERE doc_id = :doc_id AND seq < :before ORDER BY seq DESC LIMIT :limit

-- name: entry_by_seq
-- One entry with where it stands.
SELECT e.seq, e.ts_ms, e.kind, e.title, e.format, e.meta, e.content, d.doc, b.name AS branch
FROM doc_entries e
JOIN documents d ON d.doc_id = e.doc_id
JOIN branches b ON b.branch_id = d.branch_id
WHERE e.ws = :ws AND e.seq = :seq

-- name: entry_last
-- The newest entry of the workspace.
SELECT e.seq, e.ts_ms, e.kind, d.doc, b.name AS branch
FROM doc_entries e
JOIN documents d ON d.doc_id = e.doc_id
JOIN branches b ON b.branch_id = d.branch_id
WHERE e.ws = :ws ORDER BY e.seq DESC LIMIT 1

-- name: targeting_get
-- Checkout and focus of the workspace.
SELECT b.name AS checkout, t.focus
FROM targeting t LEFT JOIN branches b ON b.branch_id = t.checkout_id
WHERE t.ws = :ws

-- name: checkout_set
-- Check a branch out.
INSERT INTO targeting (ws, checkout_id) VALUES (:ws, :branch_id)
ON CONFLICT (ws) DO UPDATE SET checkout_id = excluded.checkout_id
