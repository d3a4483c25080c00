-- name: branch_by_name
-- A branch with its base.
SELECT branch_id, name, base_branch_id, base_seq, depth
FROM branches WHERE ws = :ws AND name = :name

-- name: branch_chain
-- A branch and its bases, nearest first, each with its document with that name.
WITH RECURSIVE chain (branch_id, name, base_branch_id, base_seq, step) AS (
    SELECT branch_id, name, base_branch_id, base_seq, CAST(0 AS INTEGER)
    FROM branches WHERE ws = :ws AND name = :name
    UNION ALL
    SELECT b.branch_id, b.name, b.base_branch_id, b.base_seq, c.step + 1
    FROM chain c JOIN branches b ON b.branch_id = c.base_branch_id
    WHERE c.step < 64
)
SELECT c.branch_id, c.name, c.base_seq, d.doc_id
FROM chain c LEFT JOIN documents d ON d.branch_id = c.branch_id AND d.doc = :doc
ORDER BY c.step

-- name: branch_add
-- Add a branch; nothing if the name is taken.
INSERT INTO branches (ws, name, base_branch_id, base_seq, depth, created_seq, created_at_ms)
VALUES (:ws, :name, :base_branch_id, :base_seq, :depth, :seq, :now)
ON CONFLICT (ws, name) DO NOTHING
RETURNING branch_id, name, base_branch_id, base_seq, depth

-- name: branch_made_at
-- Whether a branch was made at exactly this seq.
SELECT branch_id FROM branches WHERE ws = :ws AND created_seq = :seq LIMIT 1

-- name: branches_listed
-- Branches created before a seq, newest first.
SELECT b.name, base.name AS base_branch, b.base_seq, b.created_seq, b.created_at_ms
FROM branches b LEFT JOIN branches base ON base.branch_id = b.base_branch_id
WHERE b.ws = :ws AND b.created_seq < :before
    AND (:deleted = 1 OR b.name NOT LIKE 'deleted@%')
ORDER BY b.created_seq DESC LIMIT :limit

-- name: branch_rename
-- Rename a branch; nothing if it does not exist.
UPDATE branches SET name = :new WHERE ws = :ws AND branch_id = :branch_id
RETURNING branch_id

-- name: branch_derived
-- The newest branch derived from this one.
SELECT name FROM branches WHERE base_branch_id = :branch_id ORDER BY base_seq DESC LIMIT 1

-- name: branches_on
-- The newest branches derived from this one.
SELECT branch_id, name, base_branch_id, base_seq, depth FROM branches
WHERE base_branch_id = :branch_id AND name NOT LIKE 'deleted@%'
ORDER BY base_seq DESC LIMIT :limit

-- name: branch_unmerged_notes
-- Notes of a branch that its base has neither as the original nor as a copy, newest first.
SELECT d.doc, e.seq, e.content
FROM documents d
JOIN doc_entries e ON e.doc_id = d.doc_id AND e.kind = 'note'
LEFT JOIN documents base ON base.branch_id = :base_id AND base.doc = d.doc
WHERE d.branch_id = :branch_id
    AND NOT EXISTS (SELECT 1 FROM doc_entries o
        WHERE o.doc_id = base.doc_id AND o.seq = COALESCE(e.origin_seq, e.seq))
    AND NOT EXISTS (SELECT 1 FROM doc_entries c
        WHERE c.doc_id = base.doc_id AND c.origin_seq = COALESCE(e.origin_seq, e.seq))
ORDER BY e.seq DESC LIMIT :limit

-- name: branch_unmerged_versions
-- Graph changes of a branch that were neither merged into its base nor resolved, newest first.
SELECT d.doc, v.key, v.seq
FROM documents d
JOIN graph_versions v ON v.doc_id = d.doc_id AND v.live = 1
LEFT JOIN graph_merge_bases m ON m.ws = :ws AND m.doc_id = v.doc_id AND m.key = v.key
WHERE d.branch_id = :branch_id AND (m.merged_seq IS NULL OR m.merged_seq < v.seq)
ORDER BY v.seq DESC LIMIT :limit

-- name: branch_delete
-- Delete the branch itself, once everything on it is gone.
DELETE FROM branches WHERE ws = :ws AND branch_id = :branch_id

-- name: branch_delete_documents
-- Delete the documents of a branch, once they are empty.
DELETE FROM documents WHERE branch_id = :branch_id

-- name: branch_delete_entries
-- Delete the entries of a branch.
DELETE FROM doc_entries WHERE branch_id = :branch_id

-- name: branch_delete_versions
-- Delete the graph versions of a branch.
DELETE FROM graph_versions
WHERE doc_id IN (SELECT doc_id FROM documents WHERE branch_id = :branch_id)

-- name: branch_delete_node_tags
-- Delete the tags of nodes on a branch.
DELETE FROM graph_tags
WHERE ws = :ws AND doc_id IN (SELECT doc_id FROM documents WHERE branch_id = :branch_id)

-- name: branch_delete_merge_bases
-- Delete the record of how far a branch was merged.
DELETE FROM graph_merge_bases
WHERE ws = :ws AND doc_id IN (SELECT doc_id FROM documents WHERE branch_id = :branch_id)

-- name: branch_delete_conflicts
-- Delete the conflicts of a branch; none has it as destination, since nothing derives from it.
DELETE FROM graph_conflicts WHERE from_id = :branch_id OR into_id = :branch_id

-- name: branch_delete_tags
-- Delete the tags on commits of a branch.
DELETE FROM tags WHERE ws = :ws AND entry_seq IN
    (SELECT seq FROM doc_entries WHERE branch_id = :branch_id AND committed = 1)

-- name: document_id
-- The document with that name on exactly this branch.
SELECT doc_id FROM documents WHERE branch_id = :branch_id AND doc = :doc

-- name: document_add
-- Add a document to a branch.
INSERT INTO documents (ws, branch_id, doc, kind, created_seq)
VALUES (:ws, :branch_id, :doc, :kind, :seq)
RETURNING doc_id

-- name: documents_of_branch
-- The documents of one branch that are visible at a cut, and their newest write.
SELECT doc, kind, last_seq,
    COALESCE(
        (SELECT e.ts_ms FROM doc_entries e WHERE e.ws = :ws AND e.seq = last_seq),
        (SELECT v.ts_ms FROM graph_versions v WHERE v.ws = :ws AND v.seq = last_seq)
    ) AS last_ts_ms
FROM (
    SELECT d.doc, d.kind, COALESCE(
        (SELECT MAX(e.seq) FROM doc_entries e WHERE e.doc_id = d.doc_id AND e.seq <= :cut),
        (SELECT MAX(v.seq) FROM graph_versions v WHERE v.doc_id = d.doc_id AND v.seq <= :cut)
    ) AS last_seq
    FROM documents d WHERE d.branch_id = :branch_id AND d.created_seq <= :cut
) AS seen
ORDER BY doc

-- name: entry_add
-- Add an entry.
INSERT INTO doc_entries
    (ws, seq, doc_id, branch_id, ts_ms, kind, committed, title, format, meta, content,
     source_event_id, origin_seq)
VALUES
    (:ws, :seq, :doc_id, :branch_id, :ts_ms, :kind, :committed, :title, :format, :meta, :content,
     :source_event_id, :origin_seq)

-- name: entry_by_source
-- The entry already stored in a document for this event.
SELECT e.seq, e.ts_ms, e.kind, e.title, e.format, e.meta, e.content, e.source_event_id, d.doc,
    b.name AS branch
FROM documents d
JOIN doc_entries e ON e.doc_id = d.doc_id
JOIN branches b ON b.branch_id = d.branch_id
WHERE d.branch_id = :branch_id AND d.doc = :doc AND e.source_event_id = :source_event_id

-- name: entry_by_origin
-- The entry already stored in a document as a copy of this one.
SELECT e.seq, e.ts_ms, e.kind, e.title, e.format, e.meta, e.content, e.source_event_id, d.doc,
    b.name AS branch
FROM documents d
JOIN doc_entries e ON e.doc_id = d.doc_id
JOIN branches b ON b.branch_id = d.branch_id
WHERE d.branch_id = :branch_id AND d.doc = :doc AND e.origin_seq = :origin_seq

-- name: entries_before
-- A page of one document, newest first.
SELECT seq, ts_ms, kind, title, format, meta, content, source_event_id, origin_seq
FROM doc_entries WHERE doc_id = :doc_id AND seq < :before AND seq > :after
ORDER BY seq DESC LIMIT :limit

-- name: entry_by_seq
-- One entry with its document and branch.
SELECT e.seq, e.ts_ms, e.kind, e.title, e.format, e.meta, e.content, e.source_event_id,
    e.committed, e.branch_id, d.doc, b.name AS branch
FROM doc_entries e
JOIN documents d ON d.doc_id = e.doc_id
JOIN branches b ON b.branch_id = e.branch_id
WHERE e.ws = :ws AND e.seq = :seq AND b.name NOT LIKE 'deleted@%'

-- name: entry_last
-- The newest entry of the workspace.
SELECT e.seq, e.ts_ms, e.kind, d.doc, b.name AS branch
FROM doc_entries e
JOIN documents d ON d.doc_id = e.doc_id
JOIN branches b ON b.branch_id = e.branch_id
WHERE e.ws = :ws ORDER BY e.seq DESC LIMIT 1

-- name: commits_before
-- A page of one branch's commits, newest first.
SELECT e.seq, e.ts_ms, e.title, e.meta, e.content, d.doc
FROM doc_entries e JOIN documents d ON d.doc_id = e.doc_id
WHERE e.branch_id = :branch_id AND e.committed = 1 AND e.seq < :before
ORDER BY e.seq DESC LIMIT :limit

-- name: commits_of_workspace_before
-- A page of the commits of all branches, newest first.
SELECT e.seq, e.ts_ms, d.doc, b.name AS branch
FROM doc_entries e
JOIN documents d ON d.doc_id = e.doc_id
JOIN branches b ON b.branch_id = e.branch_id
WHERE e.ws = :ws AND e.seq < :before AND e.committed = 1
ORDER BY e.seq DESC LIMIT :limit

-- name: ref_move_add
-- Record a movement of a ref.
INSERT INTO ref_moves
    (ws, seq, ts_ms, actor, branch_id, ref, action, previous, current, head_seq)
VALUES (:ws, :seq, :ts_ms, :actor, :branch_id, :ref, :action, :previous, :current, :head_seq)

-- name: ref_moves_before
-- Movements of all refs, newest first.
SELECT seq, ts_ms, actor, ref, action, previous, current
FROM ref_moves WHERE ws = :ws AND seq < :before ORDER BY seq DESC LIMIT :limit

-- name: ref_moves_of_branch_before
-- Movements of one branch, newest first.
SELECT seq, ts_ms, actor, ref, action, previous, current
FROM ref_moves WHERE branch_id = :branch_id AND seq < :before ORDER BY seq DESC LIMIT :limit

-- name: ref_reset_last
-- The newest reset of a branch.
SELECT seq, head_seq FROM ref_moves
WHERE branch_id = :branch_id AND seq < :before AND action = 'reset' ORDER BY seq DESC LIMIT 1

-- name: tag_now
-- A tag's current row.
SELECT name, entry_seq, created_at_ms FROM tags
WHERE ws = :ws AND name = :name AND until = :endless

-- name: tag_end
-- End a tag's current row; returns it or nothing.
UPDATE tags SET until = :seq WHERE ws = :ws AND name = :name AND until = :endless
RETURNING entry_seq

-- name: tag_add
-- Add a tag on a commit.
INSERT INTO tags (ws, name, set_seq, entry_seq, created_at_ms, until)
VALUES (:ws, :name, :seq, :entry_seq, :now, :endless)

-- name: tags_listed
-- The tags as of a seq, in order of name.
SELECT t.name, t.created_at_ms, e.seq, d.doc, b.name AS branch
FROM tags t
JOIN doc_entries e ON e.ws = t.ws AND e.seq = t.entry_seq
JOIN documents d ON d.doc_id = e.doc_id
JOIN branches b ON b.branch_id = e.branch_id
WHERE t.ws = :ws AND t.set_seq <= :cut AND t.until > :cut ORDER BY t.name LIMIT :limit

-- name: targeting_get
-- Checkout and focus of the workspace, and those of one caller if it has its own.
SELECT b.name AS shared_checkout, t.focus AS shared_focus,
    o.focus AS own_focus, ob.name AS own_checkout
FROM (SELECT 1 AS one) AS always
LEFT JOIN targeting t ON t.ws = :ws
LEFT JOIN branches b ON b.branch_id = t.checkout_id
LEFT JOIN standings o ON o.ws = :ws AND o.who = :who
LEFT JOIN branches ob ON ob.branch_id = o.branch_id

-- name: checkout_set
-- Set the workspace's checkout.
INSERT INTO targeting (ws, checkout_id) VALUES (:ws, :branch_id)
ON CONFLICT (ws) DO UPDATE SET checkout_id = excluded.checkout_id

-- name: focus_set
-- Set or clear the workspace's focus.
INSERT INTO targeting (ws, focus) VALUES (:ws, :focus)
ON CONFLICT (ws) DO UPDATE SET focus = excluded.focus

-- name: own_checkout_set
-- Set one caller's checkout.
INSERT INTO standings (ws, who, branch_id, updated_at_ms) VALUES (:ws, :who, :branch_id, :now)
ON CONFLICT (ws, who) DO UPDATE SET
    branch_id = excluded.branch_id, updated_at_ms = excluded.updated_at_ms

-- name: own_focus_set
-- Set one caller's focus; '' means no focus.
INSERT INTO standings (ws, who, focus, updated_at_ms) VALUES (:ws, :who, :focus, :now)
ON CONFLICT (ws, who) DO UPDATE SET
    focus = excluded.focus, updated_at_ms = excluded.updated_at_ms

-- name: place_take
-- Copy the settings of a connection to an identity that has none.
INSERT INTO standings (ws, who, focus, branch_id, seen_seq, updated_at_ms)
SELECT c.ws, CAST(:who AS TEXT), c.focus, c.branch_id, c.seen_seq, CAST(:now AS BIGINT)
FROM standings c WHERE c.ws = :ws AND c.who = :connection
ON CONFLICT (ws, who) DO NOTHING

-- name: seen_get
-- How far one caller has read the event log.
SELECT seen_seq FROM standings WHERE ws = :ws AND who = :who

-- name: seen_set
-- Record how far one caller has read the event log; it never goes back.
INSERT INTO standings (ws, who, seen_seq, updated_at_ms) VALUES (:ws, :who, :seq, :now)
ON CONFLICT (ws, who) DO UPDATE SET
    seen_seq = excluded.seen_seq, updated_at_ms = excluded.updated_at_ms
WHERE standings.seen_seq IS NULL OR standings.seen_seq < excluded.seen_seq

-- name: own_focus_leave
-- Clear every caller's focus on something deleted.
UPDATE standings SET focus = NULL WHERE ws = :ws AND focus = :focus

-- name: own_checkout_leave
-- Clear every caller's checkout of a deleted branch.
UPDATE standings SET branch_id = NULL WHERE ws = :ws AND branch_id = :branch_id

-- name: standings_forget
-- Delete the settings of connections unchanged since a time; identities keep theirs.
DELETE FROM standings WHERE ws = :ws AND updated_at_ms < :before AND who LIKE '@%'

-- name: branch_base
-- The branch this one derives from.
SELECT base.branch_id, base.name, base.base_branch_id, base.base_seq, base.depth
FROM branches b JOIN branches base ON base.branch_id = b.base_branch_id
WHERE b.ws = :ws AND b.branch_id = :branch_id

-- name: entry_of_doc
-- An entry, if it is in this document.
SELECT seq FROM doc_entries WHERE ws = :ws AND seq = :seq AND doc_id = :doc_id

-- name: copy_in_doc
-- The copy of an entry that was merged into this document.
SELECT seq FROM doc_entries WHERE doc_id = :doc_id AND origin_seq = :origin_seq

-- name: version_by_seq
-- One version of a node or edge with its document and branch.
SELECT v.seq, v.ts_ms, v.kind, v.key, v.type, v.title, v.text, v.status, v.tags, v.from_id, v.rel,
    v.to_id, v.meta, v.deleted, v.until, d.doc, b.name AS branch
FROM graph_versions v
JOIN documents d ON d.doc_id = v.doc_id
JOIN branches b ON b.branch_id = d.branch_id
WHERE v.ws = :ws AND v.seq = :seq

-- name: entries_from
-- The seqs of entries above one, for indexing.
SELECT seq FROM doc_entries
WHERE ws = :ws AND seq > :after AND (format IS NULL OR format NOT IN ('task_event', 'think_card'))
ORDER BY seq LIMIT :limit

-- name: nodes_from
-- The seqs of node versions above one, for indexing.
SELECT seq FROM graph_versions
WHERE ws = :ws AND seq > :after AND kind = 'node' AND deleted = 0 ORDER BY seq LIMIT :limit

-- name: entries_just_before
-- The entries of a document before a seq, newest first.
SELECT seq, ts_ms, content FROM doc_entries
WHERE doc_id = :doc_id AND seq < :seq ORDER BY seq DESC LIMIT :limit

-- name: entries_just_after
-- The entries of a document after a seq, up to another, oldest first.
SELECT seq, ts_ms, content FROM doc_entries
WHERE doc_id = :doc_id AND seq > :seq AND seq <= :cut ORDER BY seq LIMIT :limit

-- name: log_after
-- The first log row at or after a seq.
SELECT seq, ts_ms FROM log WHERE ws = :ws AND seq >= :seq ORDER BY seq LIMIT 1

-- name: entries_of_branch
-- The searchable entries of a branch.
SELECT e.seq FROM doc_entries e
WHERE e.branch_id = :branch_id AND (e.format IS NULL OR e.format NOT IN ('task_event', 'think_card'))

-- name: nodes_of_branch
-- The node versions of a branch.
SELECT v.seq FROM graph_versions v
WHERE v.kind = 'node' AND v.deleted = 0
  AND v.doc_id IN (SELECT doc_id FROM documents WHERE branch_id = :branch_id)

-- name: check_older_than_branch
-- Entries and versions older than the branch they are on.
SELECT d.doc, w.seq, b.name, b.base_seq
FROM (
    SELECT doc_id, MIN(seq) AS seq FROM doc_entries WHERE ws = :ws GROUP BY doc_id
    UNION ALL
    SELECT doc_id, MIN(seq) AS seq FROM graph_versions WHERE ws = :ws GROUP BY doc_id
) AS w
JOIN documents d ON d.doc_id = w.doc_id
JOIN branches b ON b.branch_id = d.branch_id
WHERE w.seq <= b.base_seq LIMIT :limit

-- name: check_newest_versions
-- Keys whose newest version is not exactly one, or is not in the indexes.
SELECT d.doc, v.key, SUM(CASE WHEN v.until = :endless AND v.live = 1 THEN 1 ELSE 0 END) AS newest
FROM graph_versions v JOIN documents d ON d.doc_id = v.doc_id
WHERE v.ws = :ws GROUP BY d.doc_id, d.doc, v.key
HAVING SUM(CASE WHEN v.until = :endless AND v.live = 1 THEN 1 ELSE 0 END) <> 1
LIMIT :limit

-- name: check_version_ends
-- Versions that do not end where the key's next version begins.
SELECT key, seq, until, next_seq FROM (
    SELECT key, seq, until,
        LEAD(seq, 1, CAST(:endless AS INTEGER)) OVER (PARTITION BY doc_id, key ORDER BY seq) AS next_seq
    FROM graph_versions WHERE ws = :ws
) AS follows
WHERE until <> next_seq LIMIT :limit
