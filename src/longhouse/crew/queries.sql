-- part: signs_of_life
-- Columns of the holder of a reservation `r`.
(SELECT a.last_seen_at_ms FROM agents a
 WHERE a.ws = r.ws AND a.agent_id = r.agent_id) AS last_seen_at_ms,
(SELECT a.retired_at_ms FROM agents a
 WHERE a.ws = r.ws AND a.agent_id = r.agent_id) AS retired_at_ms

-- part: these_names
-- A fixed number of parameters, for value lists.
(:v0, :v1, :v2, :v3, :v4, :v5, :v6, :v7, :v8, :v9, :v10, :v11, :v12, :v13, :v14, :v15)

-- name: agent_add
-- Add an identity; returns no row if the name is taken.
INSERT INTO agents
    (ws, agent_id, kind, display_name, role, status, token_digest, owner, rig, created_at_ms,
     last_seen_at_ms, connection)
VALUES
    (:ws, :agent_id, :kind, :display_name, :role, :status, :token_digest, :owner, :rig, :now, :now,
     :connection)
ON CONFLICT (ws, agent_id) DO NOTHING
RETURNING *

-- name: agent_of_job
-- Create or revive the identity of a job; returns no row if an agent has that name.
INSERT INTO agents
    (ws, agent_id, kind, display_name, role, status, token_digest, owner, rig, created_at_ms,
     last_seen_at_ms)
VALUES
    (:ws, :agent_id, 'job', :display_name, 'job', :status, :token_digest, :owner, NULL, :now, :now)
ON CONFLICT (ws, agent_id) DO UPDATE SET display_name = excluded.display_name,
    status = excluded.status, owner = excluded.owner, retired_at_ms = NULL,
    last_seen_at_ms = excluded.last_seen_at_ms
WHERE agents.kind = 'job'
RETURNING *

-- name: agent_update
-- Update an identity's role, name and status, with its token.
UPDATE agents SET display_name = :display_name, role = :role, status = :status
WHERE ws = :ws AND agent_id = :agent_id AND token_digest = :token_digest
RETURNING *

-- name: agent_by_id
-- One identity.
SELECT * FROM agents WHERE ws = :ws AND agent_id = :agent_id

-- name: agent_on
-- The identity that a connection has proved to be.
SELECT * FROM agents WHERE ws = :ws AND connection = :connection AND retired_at_ms IS NULL

-- name: connection_free
-- A connection proves to be another identity from now on.
UPDATE agents SET connection = NULL
WHERE ws = :ws AND connection = :connection AND agent_id <> :agent_id

-- name: agents_by_ids
-- Several identities at once; unused parameters repeat one of the names.
SELECT * FROM agents
WHERE ws = :ws AND agent_id IN {these_names}

-- name: agent_seen
-- Record a sign of life in place; no row for an unknown or retired identity or a wrong token.
UPDATE agents
SET last_seen_at_ms = CASE WHEN last_seen_at_ms > :now THEN last_seen_at_ms ELSE :now END,
    owner = COALESCE(CAST(:owner AS TEXT), owner),
    connection = COALESCE(CAST(:connection AS TEXT), connection)
WHERE ws = :ws AND agent_id = :agent_id AND token_digest = :token_digest
  AND retired_at_ms IS NULL
RETURNING *

-- name: agent_acts
-- Record a sign of life of an identity whose owner was already checked.
UPDATE agents
SET last_seen_at_ms = CASE WHEN last_seen_at_ms > :now THEN last_seen_at_ms ELSE :now END
WHERE ws = :ws AND agent_id = :agent_id AND retired_at_ms IS NULL
RETURNING agent_id

-- name: agent_reissue
-- Replace the token `before`, unless it was already replaced.
UPDATE agents SET token_digest = :token_digest, last_seen_at_ms =
    CASE WHEN last_seen_at_ms > :now THEN last_seen_at_ms ELSE :now END
WHERE ws = :ws AND agent_id = :agent_id AND token_digest = :before AND retired_at_ms IS NULL
RETURNING agent_id

-- name: reservations_renew
-- Renew an identity's reservations when it acts with its token. Those renewed within the last second
-- are skipped: an identity may hold thousands and act often.
UPDATE reservations SET expires_at_ms = :now + ttl_ms
WHERE ws = :ws AND agent_id = :agent_id AND state = 'active'
  AND expires_at_ms < :now + ttl_ms - 1000
  AND EXISTS (
    SELECT 1 FROM agents a WHERE a.ws = reservations.ws AND a.agent_id = reservations.agent_id
      AND a.token_digest = :token_digest AND a.retired_at_ms IS NULL)
RETURNING *

-- name: agent_adopt
-- A new session adopts the identity; the old token stops working.
UPDATE agents
SET token_digest = :token_digest, rig = COALESCE(CAST(:rig AS TEXT), rig),
    owner = CAST(:owner AS TEXT), connection = CAST(:connection AS TEXT),
    last_seen_at_ms = CASE WHEN last_seen_at_ms > :now THEN last_seen_at_ms ELSE :now END
WHERE ws = :ws AND agent_id = :agent_id AND retired_at_ms IS NULL RETURNING *

-- name: agent_retire
-- Retire an identity; its name is never reused.
UPDATE agents SET retired_at_ms = :now
WHERE ws = :ws AND agent_id = :agent_id AND retired_at_ms IS NULL RETURNING *

-- name: agents_void
-- Nobody can prove an identity that came from elsewhere: its token and owner belong to another store.
UPDATE agents SET token_digest = '', owner = NULL, connection = NULL,
    last_seen_at_ms = CASE WHEN last_seen_at_ms > :now THEN :now ELSE last_seen_at_ms END
WHERE ws = :ws
RETURNING agent_id, retired_at_ms

-- name: agents_after
-- A page of identities, by name.
SELECT * FROM agents
WHERE ws = :ws AND agent_id > :after
  AND (CAST(:role AS TEXT) IS NULL OR role = :role)
  AND (CAST(:status AS TEXT) IS NULL OR status = :status)
  AND (:retired = 1 OR retired_at_ms IS NULL)
ORDER BY agent_id LIMIT :limit

-- name: agents_newest
-- The most recently active identities.
SELECT * FROM agents
WHERE ws = :ws
  AND (CAST(:role AS TEXT) IS NULL OR role = :role)
  AND (CAST(:status AS TEXT) IS NULL OR status = :status)
  AND (:retired = 1 OR retired_at_ms IS NULL)
ORDER BY last_seen_at_ms DESC, agent_id LIMIT :limit

-- name: agents_here
-- The identities other than one's own that were seen lately, the last one seen first.
SELECT agent_id FROM agents
WHERE ws = :ws AND retired_at_ms IS NULL AND last_seen_at_ms > :since AND kind <> 'job'
  AND (CAST(:me AS TEXT) IS NULL OR agent_id <> :me)
ORDER BY last_seen_at_ms DESC, agent_id LIMIT :limit

-- name: agents_of_role
-- The recipients of a message to a role.
SELECT agent_id FROM agents
WHERE ws = :ws AND retired_at_ms IS NULL AND role = :role ORDER BY agent_id LIMIT :limit

-- name: agents_all
-- The recipients of a broadcast.
SELECT agent_id FROM agents WHERE ws = :ws AND retired_at_ms IS NULL ORDER BY role, agent_id LIMIT :limit

-- name: reservation_add
-- Add an active reservation.
INSERT INTO reservations
    (ws, seq, path, below, mode, agent_id, bead_id, state, created_at_ms, expires_at_ms, ttl_ms)
VALUES (:ws, :seq, :path, :below, :mode, :agent_id, :bead_id, 'active', :now, :expires, :ttl_ms)
RETURNING *

-- name: reservation_by_seq
-- One reservation, active or ended.
SELECT * FROM reservations WHERE ws = :ws AND seq = :seq

-- name: reservations_extend
-- Extend one or all of an owner's reservations, by the original or a new duration.
UPDATE reservations SET ttl_ms = COALESCE(CAST(:ttl_ms AS INTEGER), ttl_ms),
    expires_at_ms = :now + COALESCE(CAST(:ttl_ms AS INTEGER), ttl_ms)
WHERE ws = :ws AND agent_id = :agent_id AND state = 'active'
  AND (CAST(:path AS TEXT) IS NULL OR (path = :path AND below = :below))
RETURNING *

-- name: reservations_in_the_way
-- Other agents' reservations at these paths (the scope and the folders above it) or below the scope,
-- if either is exclusive: those not expired first, then by the owner's last activity. Owners are
-- looked up one by one: a planner that expects many hits would read all agents for a join.
SELECT r.*,
    {signs_of_life}
FROM (
    SELECT * FROM reservations
    WHERE ws = :ws AND state = 'active' AND path IN {these_names}
    UNION ALL
    SELECT * FROM reservations
    WHERE ws = :ws AND state = 'active' AND path >= :first AND path < :past
) r
WHERE r.agent_id <> :agent_id AND (:mode = 'exclusive' OR r.mode = 'exclusive')
ORDER BY CASE WHEN r.expires_at_ms > :now THEN 0 ELSE 1 END, last_seen_at_ms DESC, r.seq
LIMIT :limit

-- name: reservations_at
-- Active reservations of exactly this scope, oldest first.
SELECT * FROM reservations
WHERE ws = :ws AND state = 'active' AND path = :path AND below = :below ORDER BY seq

-- name: reservation_end
-- End a reservation: released by its owner, or expired by a takeover.
UPDATE reservations
SET state = :state, released_at_ms = :released_at_ms, taken_over_by = :taken_over_by
WHERE ws = :ws AND seq = :seq AND state = 'active' RETURNING *

-- name: reservations_release_all
-- Release everything that one agent holds.
UPDATE reservations SET state = 'released', released_at_ms = :now
WHERE ws = :ws AND agent_id = :agent_id AND state = 'active' RETURNING seq

-- name: reservations_archive
-- Archive reservations that expired long ago and were not taken over.
UPDATE reservations SET state = 'expired'
WHERE ws = :ws AND state = 'active' AND expires_at_ms <= :before RETURNING seq

-- name: reservations_live
-- The current reservations, newest first.
SELECT r.*, a.last_seen_at_ms, a.retired_at_ms FROM reservations r
JOIN agents a ON a.ws = r.ws AND a.agent_id = r.agent_id
WHERE r.ws = :ws AND r.state = 'active' AND r.expires_at_ms > :now AND r.seq < :before
ORDER BY r.seq DESC LIMIT :limit

-- name: reservations_live_of_agent
-- The same for one agent and, optionally, one work item.
SELECT r.*, a.last_seen_at_ms, a.retired_at_ms FROM reservations r
JOIN agents a ON a.ws = r.ws AND a.agent_id = r.agent_id
WHERE r.ws = :ws AND r.state = 'active' AND r.expires_at_ms > :now AND r.seq < :before
  AND r.agent_id = :agent_id AND (CAST(:bead_id AS TEXT) IS NULL OR r.bead_id = :bead_id)
ORDER BY r.seq DESC LIMIT :limit

-- name: reservations_live_of_bead
-- The same for one work item.
SELECT r.*, a.last_seen_at_ms, a.retired_at_ms FROM reservations r
JOIN agents a ON a.ws = r.ws AND a.agent_id = r.agent_id
WHERE r.ws = :ws AND r.state = 'active' AND r.expires_at_ms > :now AND r.seq < :before
  AND r.bead_id = :bead_id
ORDER BY r.seq DESC LIMIT :limit

-- name: reservations_held
-- An identity's unreleased reservations, expired or not.
SELECT path, below, bead_id FROM reservations
WHERE ws = :ws AND agent_id = :agent_id AND state = 'active'
ORDER BY seq DESC LIMIT :limit

-- name: reservations_over
-- The agents with an unreleased reservation of one of these paths, expired or not.
SELECT DISTINCT agent_id FROM reservations
WHERE ws = :ws AND state = 'active' AND path IN
    {these_names}
LIMIT :limit

-- name: reservations_covering
-- The reservations of these paths that are active or were released since then, each with its holder's
-- liveness and owner token.
SELECT r.*,
    {signs_of_life},
    (SELECT a.owner FROM agents a WHERE a.ws = r.ws AND a.agent_id = r.agent_id) AS owner
FROM (
    SELECT * FROM reservations
    WHERE ws = :ws AND state = 'active' AND path IN {these_names}
    UNION ALL
    SELECT * FROM reservations
    WHERE ws = :ws AND state = 'released' AND released_at_ms > :since AND path IN {these_names}
) r

-- name: reservations_recorded
-- Every scope that an identity has reserved for one work item.
SELECT path, below FROM reservations
WHERE ws = :ws AND bead_id = :bead_id AND agent_id = :agent_id
ORDER BY seq DESC LIMIT :limit

-- name: acted_on
-- Whether an identity acted on a work item, or reserved for it, after it registered and after anyone
-- else last assigned or moved the item.
SELECT 1 AS acted FROM (
    SELECT MAX(l.seq) AS seq FROM log AS l
    WHERE l.ws = :ws AND l.subject = :item AND l.actor = :agent_id AND l.ts_ms >= :since
    UNION ALL
    SELECT MAX(r.seq) AS seq FROM reservations AS r
    WHERE r.ws = :ws AND r.bead_id = :item AND r.agent_id = :agent_id
) AS own
WHERE own.seq > COALESCE((
    SELECT MAX(o.seq) FROM log AS o
    WHERE o.ws = :ws AND o.subject = :item AND o.stream = 'work'
      AND (o.actor IS NULL OR o.actor <> :agent_id)
      AND (o.data LIKE '%"assignee"%' OR o.data LIKE '%"status"%')), 0)
LIMIT 1

-- name: reservations_unended
-- How many reservations are active, and how many expired but not archived; ended ones have counters.
SELECT
    (SELECT COUNT(*) FROM reservations
     WHERE ws = :ws AND state = 'active' AND expires_at_ms > :now) AS active,
    (SELECT COUNT(*) FROM reservations
     WHERE ws = :ws AND state = 'active' AND expires_at_ms <= :now) AS expired

-- name: reservations_ended
-- How many reservations ended in a state.
SELECT COUNT(*) AS n FROM reservations WHERE ws = :ws AND state = :state

-- name: reservations_counted_of_agent
-- The counts for one agent.
SELECT
    COALESCE(SUM(CASE WHEN state = 'active' AND expires_at_ms > :now THEN 1 ELSE 0 END), 0)
        AS active,
    COALESCE(SUM(CASE WHEN state = 'released' THEN 1 ELSE 0 END), 0) AS released,
    COALESCE(SUM(CASE WHEN state = 'expired' OR (state = 'active' AND expires_at_ms <= :now)
        THEN 1 ELSE 0 END), 0) AS expired
FROM reservations WHERE ws = :ws AND agent_id = :agent_id
  AND (CAST(:bead_id AS TEXT) IS NULL OR bead_id = :bead_id)

-- name: reservations_counted_of_bead
-- The same for one work item.
SELECT
    COALESCE(SUM(CASE WHEN state = 'active' AND expires_at_ms > :now THEN 1 ELSE 0 END), 0)
        AS active,
    COALESCE(SUM(CASE WHEN state = 'released' THEN 1 ELSE 0 END), 0) AS released,
    COALESCE(SUM(CASE WHEN state = 'expired' OR (state = 'active' AND expires_at_ms <= :now)
        THEN 1 ELSE 0 END), 0) AS expired
FROM reservations WHERE ws = :ws AND bead_id = :bead_id

-- name: reservations_states
-- Every reservation's state, for comparison with the log.
SELECT seq, state FROM reservations WHERE ws = :ws AND seq > :after ORDER BY seq LIMIT :limit

-- name: reservations_after
-- A page of the reservations made up to a seq, oldest first.
SELECT * FROM reservations WHERE ws = :ws AND seq > :after AND seq <= :upto ORDER BY seq LIMIT :limit

-- name: messages_after
-- A page of the messages sent up to a seq, oldest first.
SELECT * FROM messages WHERE ws = :ws AND seq > :after AND seq <= :upto ORDER BY seq LIMIT :limit

-- name: talk_after
-- A page of the states of work items, by id.
SELECT * FROM item_talk WHERE ws = :ws AND bead_id > :after ORDER BY bead_id LIMIT :limit

-- name: incursions_standing
-- The incursions already recorded for an agent, a scope and a work item.
SELECT reservation_seq, owner_state, seq FROM incursions
WHERE ws = :ws AND agent_id = :agent_id AND path = :path AND below = :below AND bead_id = :bead_id

-- name: incursion_put
-- Remember an incursion with the seq of its event.
INSERT INTO incursions
    (ws, agent_id, path, below, bead_id, reservation_seq, owner_state, seq)
VALUES (:ws, :agent_id, :path, :below, :bead_id, :reservation_seq, :owner_state, :seq)
ON CONFLICT (ws, agent_id, path, below, bead_id, reservation_seq) DO UPDATE SET
    owner_state = excluded.owner_state, seq = excluded.seq

-- name: incursions_over
-- Forget the incursions of ended reservations.
DELETE FROM incursions
WHERE ws = :ws AND NOT EXISTS (
    SELECT 1 FROM reservations r
    WHERE r.ws = incursions.ws AND r.seq = incursions.reservation_seq AND r.state = 'active')

-- name: message_add
-- Add one message to one recipient.
INSERT INTO messages
    (ws, seq, thread_id, bead_id, from_agent, to_agent, category, subject, body, requires_ack,
     created_at_ms)
VALUES
    (:ws, :seq, :thread_id, :bead_id, :from_agent, :to_agent, :category, :subject, :body,
     :requires_ack, :now)
RETURNING *

-- name: message_by_seq
-- One message.
SELECT * FROM messages WHERE ws = :ws AND seq = :seq

-- name: messages_between
-- The messages about one work item in a range of its history.
SELECT * FROM messages WHERE ws = :ws AND bead_id = :bead_id AND seq >= :first AND seq <= :last

-- name: message_read
-- Mark a message as read by its recipient; the first time is kept.
UPDATE messages SET read_at_ms = COALESCE(read_at_ms, :now)
WHERE ws = :ws AND seq = :seq AND to_agent = :agent_id RETURNING *

-- name: message_ack
-- Mark a message as accepted, and read, by its recipient; the first time is kept.
UPDATE messages
SET read_at_ms = COALESCE(read_at_ms, :now), acked_at_ms = COALESCE(acked_at_ms, :now)
WHERE ws = :ws AND seq = :seq AND to_agent = :agent_id RETURNING *

-- name: message_answer
-- Record whose reply settled a message; only the first counts.
UPDATE messages SET answered_by = :agent_id, answered_at_ms = :now
WHERE ws = :ws AND seq = :seq AND answered_at_ms IS NULL RETURNING *

-- name: inbox
-- A page of an agent's messages, newest first.
SELECT * FROM messages
WHERE ws = :ws AND to_agent = :agent_id AND seq < :before
  AND (CAST(:bead_id AS TEXT) IS NULL OR bead_id = :bead_id)
  AND (CAST(:thread_id AS TEXT) IS NULL OR thread_id = :thread_id)
  AND (CAST(:text AS TEXT) IS NULL OR LOWER(subject || ' ' || body) LIKE :text ESCAPE '!')
  AND ((:unread = 1 AND read_at_ms IS NULL)
       OR (:read = 1 AND read_at_ms IS NOT NULL AND acked_at_ms IS NULL)
       OR (:acked = 1 AND acked_at_ms IS NOT NULL))
ORDER BY seq DESC LIMIT :limit

-- name: inbox_unread
-- The same for unread messages, which agents poll.
SELECT * FROM messages
WHERE ws = :ws AND to_agent = :agent_id AND read_at_ms IS NULL AND seq < :before
  AND (CAST(:bead_id AS TEXT) IS NULL OR bead_id = :bead_id)
  AND (CAST(:thread_id AS TEXT) IS NULL OR thread_id = :thread_id)
  AND (CAST(:text AS TEXT) IS NULL OR LOWER(subject || ' ' || body) LIKE :text ESCAPE '!')
ORDER BY seq DESC LIMIT :limit

-- name: unread_counted
-- The number of an agent's unread messages, up to a limit.
SELECT COUNT(*) AS n FROM (SELECT seq FROM messages
    WHERE ws = :ws AND to_agent = :agent_id AND read_at_ms IS NULL LIMIT :limit) unread

-- name: messages_due
-- The messages that wait to be accepted.
SELECT * FROM messages
WHERE ws = :ws AND requires_ack = 1 AND acked_at_ms IS NULL AND answered_at_ms IS NULL
  AND (CAST(:agent_id AS TEXT) IS NULL OR to_agent = :agent_id)
  AND (CAST(:bead_id AS TEXT) IS NULL OR bead_id = :bead_id)
ORDER BY seq DESC LIMIT :limit

-- name: messages_due_counted
-- The number of messages that wait to be accepted.
SELECT COUNT(*) AS n FROM messages
WHERE ws = :ws AND requires_ack = 1 AND acked_at_ms IS NULL AND answered_at_ms IS NULL
  AND (CAST(:agent_id AS TEXT) IS NULL OR to_agent = :agent_id)
  AND (CAST(:bead_id AS TEXT) IS NULL OR bead_id = :bead_id)

-- name: talk_add
-- Update the message counts and last activity of a work item.
INSERT INTO item_talk (ws, bead_id, unread, due, last_at_ms, last_actor, latest_subject)
VALUES (:ws, :bead_id, :unread, :due, :now, :actor, :subject)
ON CONFLICT (ws, bead_id) DO UPDATE SET
    unread = item_talk.unread + excluded.unread,
    due = item_talk.due + excluded.due,
    last_at_ms = excluded.last_at_ms,
    last_actor = excluded.last_actor,
    latest_subject = COALESCE(excluded.latest_subject, item_talk.latest_subject)

-- name: talk_of
-- The counts and last activity of several work items; unused parameters repeat one of the ids.
SELECT * FROM item_talk
WHERE ws = :ws AND bead_id IN
    {these_names}

-- name: talk_miscounted
-- Work items whose counts do not match their messages.
SELECT t.bead_id, t.unread, t.due FROM item_talk t
WHERE t.ws = :ws AND (
    t.unread <> (SELECT COUNT(*) FROM messages m
                 WHERE m.ws = t.ws AND m.bead_id = t.bead_id AND m.read_at_ms IS NULL)
    OR t.due <> (SELECT COUNT(*) FROM messages m
                 WHERE m.ws = t.ws AND m.bead_id = t.bead_id AND m.requires_ack = 1
                   AND m.acked_at_ms IS NULL AND m.answered_at_ms IS NULL))
ORDER BY t.bead_id LIMIT :limit

-- name: incursions_newest
-- The newest incursions. The inner query walks its own small index; without it, planners walk the
-- whole log.
SELECT seq, ts_ms, stream, subject, kind, actor, data FROM log WHERE ws = :ws AND seq IN (
    SELECT seq FROM log
    WHERE ws = :ws AND stream = 'crew' AND kind = 'INCURSION' ORDER BY seq DESC LIMIT :limit)
ORDER BY seq DESC

-- name: changes_outside_newest
-- The newest changes outside a reservation, with an inner query as above.
SELECT seq, ts_ms, stream, subject, kind, actor, data FROM log
WHERE ws = :ws AND ts_ms > :since AND seq IN (
    SELECT seq FROM log
    WHERE ws = :ws AND stream = 'crew' AND kind = 'changed_outside' ORDER BY seq DESC LIMIT :limit)
ORDER BY seq DESC

-- name: tracked_all
-- A page of the recorded state of an external tracker, by id.
SELECT bead_id, updated_at_ms, told FROM tracked
WHERE ws = :ws AND bead_id > :after ORDER BY bead_id LIMIT :limit

-- name: tracked_digest
-- The digest of the last reading that was compared in full; none before the first.
SELECT told FROM tracked WHERE ws = :ws AND bead_id = ''

-- name: tracked_put
-- Record the state of one item.
INSERT INTO tracked (ws, bead_id, updated_at_ms, told)
VALUES (:ws, :bead_id, :updated_at_ms, :told)
ON CONFLICT (ws, bead_id) DO UPDATE SET
    updated_at_ms = excluded.updated_at_ms, told = excluded.told

-- name: tracked_drop
-- Remove an item that is no longer in the tracker.
DELETE FROM tracked WHERE ws = :ws AND bead_id = :bead_id

-- name: reservations_clamp
-- Shorten reservations that were made under a clock that was ahead to their full length from now.
UPDATE reservations SET expires_at_ms = :now + ttl_ms
WHERE ws = :ws AND state = 'active' AND expires_at_ms > :now + ttl_ms

-- name: agents_clamp
-- Nobody can have been seen later than now.
UPDATE agents SET last_seen_at_ms = :now WHERE ws = :ws AND last_seen_at_ms > :now

-- name: messages_from
-- The seqs of messages above one, for indexing.
SELECT seq FROM messages WHERE ws = :ws AND seq > :after ORDER BY seq LIMIT :limit
