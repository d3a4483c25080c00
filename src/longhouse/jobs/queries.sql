-- part: job
-- The columns that a statement which changes a job returns.
n, revision, status, title, kind, priority, task_id, anchor_id, runner_id, claim_expires_at_ms,
last_heartbeat_ms, waits, not_before_ms, failures, percent, summary, refs, input_tokens,
output_tokens, cost_microusd, uncosted, deadline_ms, max_tokens, max_cost_microusd, changes, in_crew,
last_seq, created_at_ms, updated_at_ms, completed_at_ms

-- part: holds_claim
-- The caller made the claim: on this connection, or as the same identity on an earlier one.
(claim_owner = :owner OR claim_identity = CAST(:identity AS TEXT))

-- name: spec_add
-- Store the spec of a new job.
INSERT INTO job_specs (ws, n, prompt, meta) VALUES (:ws, :n, :prompt, :meta)

-- name: spec_change
-- Replace the spec; the event of the change keeps the previous values.
UPDATE job_specs SET prompt = :prompt, meta = :meta WHERE ws = :ws AND n = :n

-- name: spec_of
-- The prompt and meta of one job.
SELECT prompt, meta FROM job_specs WHERE ws = :ws AND n = :n

-- name: spec_size
-- The length of the prompt in characters.
SELECT LENGTH(prompt) AS chars FROM job_specs WHERE ws = :ws AND n = :n

-- name: job_add
-- Add a queued job; the table's defaults fill the other columns.
INSERT INTO jobs
    (ws, n, title, kind, priority, task_id, anchor_id, route, require_proof, max_attempts,
     retry_backoff_ms, deadline_ms, max_tokens, max_cost_microusd, created_at_ms, created_seq,
     status, waits, not_before_ms, updated_at_ms, last_seq, creator, creator_agent) VALUES
    (:ws, :n, :title, :kind, :priority, :task_id, :anchor_id, :route, :require_proof,
     :max_attempts, :retry_backoff_ms, :deadline_ms, :max_tokens, :max_cost_microusd,
     :created_at_ms, :last_seq, :status, :waits, :not_before_ms, :created_at_ms, :last_seq,
     :creator, :creator_agent)

-- name: job_one
-- One job.
SELECT * FROM jobs WHERE ws = :ws AND n = :n

-- name: job_claim
-- Claim a claimable job or, with allow_stale, one whose claim has expired.
UPDATE jobs SET status = 'RUNNING', revision = revision + 1, runner_id = :runner_id,
    claim_owner = :owner, claim_identity = CAST(:identity AS TEXT),
    claim_agent = CAST(:agent AS TEXT), in_crew = CAST(:in_crew AS INTEGER),
    claim_expires_at_ms = :expires, not_before_ms = 0, last_claim_seq = :seq, last_seq = :seq,
    updated_at_ms = :now WHERE ws = :ws AND n = :n
  AND CASE status WHEN 'QUEUED' THEN waits = 0 AND not_before_ms <= :now
      WHEN 'RUNNING' THEN CAST(:allow_stale AS INTEGER) = 1 AND claim_expires_at_ms <= :now END
RETURNING {job}, route, (SELECT s.meta FROM job_specs AS s WHERE s.ws = jobs.ws AND s.n = jobs.n) AS meta

-- name: claim_of_agent
-- The active claims whose agent's token has this digest; two are enough to know it is ambiguous.
SELECT ws, claim_owner FROM jobs
WHERE claim_agent = :digest AND status = 'RUNNING' AND claim_expires_at_ms > :now LIMIT 2

-- name: job_heartbeat
-- Renew the claim in place; a heartbeat is not an event.
UPDATE jobs SET claim_expires_at_ms = :expires, last_heartbeat_ms = :now,
    percent = COALESCE(CAST(:percent AS INTEGER), percent), runtime = COALESCE(CAST(:runtime AS TEXT), runtime),
    input_tokens = input_tokens + :input_tokens, output_tokens = output_tokens + :output_tokens,
    cost_microusd = cost_microusd + :cost_microusd, uncosted = uncosted + :uncosted, updated_at_ms = :now
WHERE ws = :ws AND n = :n AND CASE status WHEN 'RUNNING' THEN
      runner_id = :runner_id AND revision = :revision AND {holds_claim} END RETURNING {job}

-- name: job_report
-- Record the newest event of its kind and renew the claim. The runner's agent may also report, with
-- kind and message only (`tells`); that does not renew the lease.
UPDATE jobs SET claim_expires_at_ms =
        CASE WHEN {holds_claim} THEN :expires ELSE claim_expires_at_ms END,
    percent = COALESCE(CAST(:percent AS INTEGER), percent), runtime = COALESCE(CAST(:runtime AS TEXT), runtime),
    input_tokens = input_tokens + :input_tokens, output_tokens = output_tokens + :output_tokens,
    cost_microusd = cost_microusd + :cost_microusd, uncosted = uncosted + :uncosted,
    last_question_seq = CASE WHEN :kind = 'question' THEN :seq ELSE last_question_seq END,
    last_proof_gate_seq = CASE WHEN :kind = 'proof_gate' THEN :seq ELSE last_proof_gate_seq END,
    last_error_seq = CASE WHEN :kind = 'error' THEN :seq ELSE last_error_seq END,
    last_proof_seq = CASE WHEN CAST(:proof AS INTEGER) = 1 THEN :seq ELSE last_proof_seq END,
    last_seq = :seq, updated_at_ms = :now WHERE ws = :ws AND n = :n
  AND CASE status WHEN 'RUNNING' THEN runner_id = :runner_id AND revision = :revision
      AND ({holds_claim} OR (CAST(:tells AS INTEGER) = 1 AND claim_agent = :owner)) END
RETURNING {job}

-- name: job_end
-- Finish a claimed job: as FAILED only on the last attempt, as DONE without proof only if allowed.
UPDATE jobs SET status = :status, revision = revision + 1, claim_expires_at_ms = NULL,
    failures = failures + :failed, summary = :summary, refs = :refs, runtime = COALESCE(CAST(:runtime AS TEXT), runtime),
    input_tokens = input_tokens + :input_tokens, output_tokens = output_tokens + :output_tokens,
    cost_microusd = cost_microusd + :cost_microusd, uncosted = uncosted + :uncosted, last_seq = :seq, updated_at_ms = :now,
    completed_at_ms = :now WHERE ws = :ws AND n = :n AND CASE status WHEN 'RUNNING' THEN
      runner_id = :runner_id AND revision = :revision AND {holds_claim} END
  AND (CAST(:failed AS INTEGER) = 0 OR failures + 1 >= max_attempts)
  AND (CAST(:proved AS INTEGER) = 1 OR require_proof = 0) RETURNING {job}, EXISTS (
    SELECT 1 FROM job_after AS a WHERE a.ws = jobs.ws AND a.after_n = jobs.n ) AS followed

-- name: job_hold
-- A claimed job is done, but its changes are pending: it is not claimable and needs attention.
UPDATE jobs SET status = 'QUEUED', revision = revision + 1, runner_id = NULL,
    claim_expires_at_ms = NULL, changes = :changes, not_before_ms = :held, summary = :summary,
    refs = :refs, runtime = COALESCE(CAST(:runtime AS TEXT), runtime),
    input_tokens = input_tokens + :input_tokens, output_tokens = output_tokens + :output_tokens,
    cost_microusd = cost_microusd + :cost_microusd, uncosted = uncosted + :uncosted,
    last_error_seq = :seq, last_seq = :seq, updated_at_ms = :now WHERE ws = :ws AND n = :n
  AND CASE status WHEN 'RUNNING' THEN
      runner_id = :runner_id AND revision = :revision AND {holds_claim} END
  AND (CAST(:proved AS INTEGER) = 1 OR require_proof = 0) RETURNING {job}

-- name: jobs_unfinished
-- A page of the unfinished jobs, oldest first.
SELECT * FROM jobs WHERE ws = :ws AND status IN ('QUEUED', 'RUNNING') AND n > :after
ORDER BY n LIMIT :limit

-- name: job_arrive
-- An unfinished job came from elsewhere: no one has claimed it here, and it may be held.
UPDATE jobs SET status = 'QUEUED', revision = revision + 1, runner_id = NULL,
    claim_expires_at_ms = NULL, claim_identity = NULL, claim_agent = NULL, waits = :waits, not_before_ms = :not_before_ms,
    last_error_seq = CASE WHEN CAST(:held AS INTEGER) = 1 THEN :seq ELSE last_error_seq END,
    last_seq = :seq, updated_at_ms = :now
WHERE ws = :ws AND n = :n AND CASE WHEN status IN ('QUEUED', 'RUNNING') THEN TRUE END RETURNING *

-- name: jobs_keep_waiting
-- Jobs with pending changes are never claimable, whatever their row said where it came from.
UPDATE jobs SET not_before_ms = :held WHERE ws = :ws AND status = 'QUEUED' AND changes IS NOT NULL

-- name: claims_of_nobody
-- No token of this store has made any claim or job that came from elsewhere.
UPDATE jobs
SET claim_owner = '', claim_identity = NULL, claim_agent = NULL, creator = '', creator_agent = NULL
WHERE ws = :ws

-- name: jobs_with_session
-- A page of the jobs whose runtime notes may hold a session of an executor.
SELECT n, runtime FROM jobs WHERE ws = :ws AND n > :after AND runtime LIKE '%"session"%'
ORDER BY n LIMIT :limit

-- name: job_runtime
-- Replace a job's runtime notes.
UPDATE jobs SET runtime = :runtime WHERE ws = :ws AND n = :n

-- name: job_settle
-- Finish a job whose pending changes were applied or dropped.
UPDATE jobs SET status = :status, revision = revision + 1, changes = NULL, not_before_ms = 0,
    summary = :summary, last_seq = :seq, updated_at_ms = :now, completed_at_ms = :now
WHERE ws = :ws AND n = :n AND CASE status WHEN 'QUEUED' THEN changes IS NOT NULL END RETURNING *

-- name: job_retry
-- Requeue a job after a failed attempt that was not the last, with a delay.
UPDATE jobs SET status = 'QUEUED', revision = revision + 1, runner_id = NULL,
    claim_expires_at_ms = NULL, failures = failures + 1, not_before_ms = :not_before_ms,
    waits = :waits, summary = :summary, runtime = COALESCE(CAST(:runtime AS TEXT), runtime),
    input_tokens = input_tokens + :input_tokens, output_tokens = output_tokens + :output_tokens,
    cost_microusd = cost_microusd + :cost_microusd, uncosted = uncosted + :uncosted, last_error_seq = :seq, last_seq = :seq,
    updated_at_ms = :now WHERE ws = :ws AND n = :n AND CASE status WHEN 'RUNNING' THEN
      runner_id = :runner_id AND revision = :revision AND {holds_claim} END AND failures + 1 < max_attempts
RETURNING *

-- name: job_release
-- Return a claimed job to the queue.
UPDATE jobs SET status = 'QUEUED', revision = revision + 1, runner_id = NULL,
    claim_expires_at_ms = NULL, route = :route, waits = :waits,
    last_error_seq = CASE WHEN CAST(:lost AS INTEGER) = 1 THEN :seq ELSE last_error_seq END,
    last_seq = :seq, updated_at_ms = :now WHERE ws = :ws AND n = :n
  AND CASE status WHEN 'RUNNING' THEN
      runner_id = :runner_id AND revision = :revision AND {holds_claim} END RETURNING *

-- name: job_cancel
-- Cancel an unfinished job.
UPDATE jobs SET status = 'CANCELED', revision = revision + 1, claim_expires_at_ms = NULL,
    changes = NULL, summary = :summary, last_seq = :seq, updated_at_ms = :now, completed_at_ms = :now
WHERE ws = :ws AND n = :n AND CASE WHEN status IN ('QUEUED', 'RUNNING') THEN TRUE END RETURNING *

-- name: job_update
-- Change a queued job.
UPDATE jobs SET title = :title, priority = :priority, route = :route, deadline_ms = :deadline_ms,
    max_tokens = :max_tokens, max_cost_microusd = :max_cost_microusd, last_seq = :seq,
    updated_at_ms = :now WHERE ws = :ws AND n = :n AND CASE status WHEN 'QUEUED' THEN TRUE END
RETURNING *

-- name: job_requeue
-- Run a finished job again from the start, or (`offer`) reoffer a queued job to every runner.
UPDATE jobs SET status = 'QUEUED', revision = revision + 1, runner_id = NULL, failures = 0,
    not_before_ms = 0, percent = NULL, summary = NULL, refs = '[]', completed_at_ms = NULL,
    changes = NULL, route = :route, waits = :waits, last_error_seq = CAST(:error_seq AS INTEGER),
    last_claim_seq = 0, last_seq = :seq, updated_at_ms = :now
WHERE ws = :ws AND n = :n AND CASE status WHEN 'QUEUED' THEN CAST(:offer AS INTEGER) = 1
    WHEN 'RUNNING' THEN FALSE ELSE TRUE END RETURNING *

-- name: job_message
-- Record a message from the manager, which answers every question asked so far.
UPDATE jobs SET last_manager_seq = :seq,
    last_proof_seq = CASE WHEN CAST(:proof AS INTEGER) = 1 THEN :seq ELSE last_proof_seq END,
    last_seq = :seq, updated_at_ms = :now
WHERE ws = :ws AND n = :n AND CASE WHEN status IN ('QUEUED', 'RUNNING') THEN TRUE END RETURNING *

-- name: job_told
-- Record an event that concerns a running job.
UPDATE jobs SET last_seq = :seq, updated_at_ms = :now
WHERE ws = :ws AND n = :n AND CASE status WHEN 'RUNNING' THEN TRUE END RETURNING *

-- name: job_woken
-- A background process that an unfinished job watches has finished.
UPDATE jobs SET last_seq = :seq, updated_at_ms = :now
WHERE ws = :ws AND n = :n AND CASE WHEN status IN ('QUEUED', 'RUNNING') THEN TRUE END RETURNING *

-- name: job_refused
-- Record a refused late write; the job itself does not change.
UPDATE jobs SET last_seq = :seq WHERE ws = :ws AND n = :n RETURNING *

-- name: job_wait_again
-- The files of a queued job are still held: extend its delay without an event.
UPDATE jobs SET not_before_ms = :until
WHERE ws = :ws AND n = :n AND CASE status WHEN 'QUEUED' THEN TRUE END

-- name: job_block
-- The files of a queued job are held by others: delay it, with an event.
UPDATE jobs SET not_before_ms = :until, in_crew = 1, last_error_seq = :seq, last_seq = :seq,
    updated_at_ms = :now WHERE ws = :ws AND n = :n AND CASE status WHEN 'QUEUED' THEN TRUE END
RETURNING *

-- name: job_account
-- Count the usage of a slice whose claim is gone.
UPDATE jobs SET input_tokens = input_tokens + :input_tokens,
    output_tokens = output_tokens + :output_tokens, cost_microusd = cost_microusd + :cost_microusd,
    uncosted = uncosted + :uncosted, last_seq = :seq, updated_at_ms = :now
WHERE ws = :ws AND n = :n RETURNING *

-- name: claim_due
-- Make jobs whose delay has elapsed claimable.
UPDATE jobs SET not_before_ms = 0
WHERE ws = :ws AND status = 'QUEUED' AND waits = 0 AND not_before_ms > 0 AND not_before_ms <= :now

-- part: look
-- What a claim needs, in at least one row: the first jobs of the first routes and, on each row, the
-- last route, the time the first delayed job is due, and the runner's own lease.
SELECT head.route, head.n, head.priority, lease.offers, lease.lease_expires_at_ms, lease.owner,
       lease.since_ms,
       (SELECT MAX(route) FROM jobs
        WHERE ws = :ws AND status = 'QUEUED' AND waits = 0 AND not_before_ms = 0) AS last_route,
       (SELECT MIN(not_before_ms) FROM jobs
        WHERE ws = :ws AND status = 'QUEUED' AND waits = 0 AND not_before_ms > 0) AS due_ms
FROM (SELECT 1 AS one) AS always
LEFT JOIN runner_leases AS lease ON lease.ws = :ws AND lease.runner_id = :runner_id
LEFT JOIN (
    SELECT route, n, priority FROM jobs
    WHERE ws = :ws AND status = 'QUEUED' AND waits = 0 AND not_before_ms = 0
    ORDER BY route, priority DESC, n

-- part: head
-- The first jobs of the next routes, going from route to route without scanning their jobs.
SELECT route, n, priority FROM jobs
WHERE ws = :ws AND status = 'QUEUED' AND waits = 0 AND not_before_ms = 0 AND route > :route
ORDER BY route, priority DESC, n

-- name: claim_look
-- For the claims of a batch. With a bound LIMIT, PostgreSQL would plan again each time.
{look} LIMIT 16) AS head ON 1 = 1

-- name: claim_head
-- The next page of those jobs.
{head} LIMIT 16

-- name: claim_delayed
-- Jobs whose delay has elapsed, for callers that must not write.
SELECT route, n, priority FROM jobs
WHERE ws = :ws AND status = 'QUEUED' AND waits = 0 AND not_before_ms > 0 AND not_before_ms <= :now
ORDER BY not_before_ms LIMIT :limit

-- name: claim_expired
-- Expired claims, longest ago first.
SELECT route, n, priority FROM jobs
WHERE ws = :ws AND status = 'RUNNING' AND claim_expires_at_ms <= :now
ORDER BY claim_expires_at_ms LIMIT :limit

-- name: next_expiry
-- When the next claim expires.
SELECT MIN(claim_expires_at_ms) AS at_ms FROM jobs
WHERE ws = :ws AND status = 'RUNNING' AND claim_expires_at_ms > :now

-- name: count_up_to
-- How many jobs have a status, counted up to a limit.
SELECT COUNT(*) AS jobs FROM (
    SELECT 1 FROM jobs WHERE ws = :ws AND status = :status ORDER BY n LIMIT :limit ) AS counted

-- name: work_waits
-- Whether a runner would find work now: a job that is due, or an expired claim.
SELECT CASE WHEN
    EXISTS (SELECT 1 FROM jobs WHERE ws = :ws AND status = 'QUEUED' AND waits = 0 AND not_before_ms = 0)
    OR EXISTS (SELECT 1 FROM jobs WHERE ws = :ws AND status = 'QUEUED' AND waits = 0
        AND not_before_ms > 0 AND not_before_ms <= :now)
    OR EXISTS (SELECT 1 FROM jobs WHERE ws = :ws AND status = 'RUNNING' AND claim_expires_at_ms <= :now)
THEN 1 ELSE 0 END AS waits

-- name: after_add
-- Make one job depend on another.
INSERT INTO job_after (ws, after_n, n) VALUES (:ws, :after_n, :n)

-- name: after_of
-- The jobs that a job depends on, with their status.
SELECT n, status FROM jobs
WHERE ws = :ws AND n IN (SELECT after_n FROM job_after WHERE ws = :ws AND n = :n) ORDER BY n

-- name: after_all
-- What every job of the workspace depends on.
SELECT * FROM job_after WHERE ws = :ws ORDER BY n, after_n

-- name: after_this
-- The jobs that depend on this one.
SELECT n FROM job_after WHERE ws = :ws AND after_n = :n ORDER BY n

-- name: after_this_in_all
-- How many queued jobs wait for this one, directly or not, counted up to 100.
-- BETWEEN is an equality that PostgreSQL cannot hash, so it uses the index for each job.
WITH RECURSIVE behind (n) AS (
    SELECT n FROM job_after WHERE ws = :ws AND after_n = :n
    UNION
    SELECT job_after.n FROM behind
    JOIN job_after ON job_after.after_n BETWEEN behind.n AND behind.n
    WHERE job_after.ws = :ws
)
SELECT COUNT(*) AS frees FROM (
    SELECT 1 FROM behind WHERE EXISTS (
        SELECT 1 FROM jobs WHERE ws = :ws AND n BETWEEN behind.n AND behind.n
        AND CASE status WHEN 'QUEUED' THEN TRUE END) LIMIT 100) AS freed

-- name: after_count
-- Set how many jobs a queued job still waits for.
UPDATE jobs SET waits = :waits WHERE ws = :ws AND n = :n AND CASE status WHEN 'QUEUED' THEN TRUE END

-- name: after_told
-- The same, with an event; error_seq is nonzero if a dependency has failed.
UPDATE jobs SET waits = :waits, last_error_seq = :error_seq, last_seq = :seq, updated_at_ms = :now
WHERE ws = :ws AND n = :n AND CASE status WHEN 'QUEUED' THEN TRUE END

-- name: jobs_newest
-- A page of jobs, newest first.
SELECT * FROM jobs WHERE ws = :ws AND n < :before ORDER BY n DESC LIMIT :limit

-- name: jobs_newest_of_status
-- A page of the jobs of one status, newest first.
SELECT * FROM jobs WHERE ws = :ws AND status = :status AND n < :before ORDER BY n DESC LIMIT :limit

-- name: jobs_oldest_of_status
-- A page of the jobs of one status, oldest first: a queue.
SELECT * FROM jobs WHERE ws = :ws AND status = :status AND n > :after ORDER BY n LIMIT :limit

-- name: jobs_newest_of_task
-- A page of the jobs of one task.
SELECT * FROM jobs WHERE ws = :ws AND task_id = :task AND n < :before
  AND (CAST(:status AS TEXT) IS NULL OR status = :status)
  AND (CAST(:anchor AS TEXT) IS NULL OR anchor_id = :anchor)
ORDER BY n DESC LIMIT :limit

-- name: jobs_newest_of_anchor
-- A page of the jobs of one anchor.
SELECT * FROM jobs WHERE ws = :ws AND anchor_id = :anchor AND n < :before
  AND (CAST(:status AS TEXT) IS NULL OR status = :status)
ORDER BY n DESC LIMIT :limit

-- name: radar_active
-- Unfinished jobs, those that need attention first, then the oldest.
SELECT * FROM urgent_jobs WHERE ws = :ws AND status IN ('QUEUED', 'RUNNING')
ORDER BY urgency DESC, n LIMIT :limit

-- name: radar_stale
-- Running jobs whose claim has expired.
SELECT * FROM urgent_jobs WHERE ws = :ws AND status = 'RUNNING' AND claim_expires_at_ms <= :now
ORDER BY claim_expires_at_ms LIMIT :limit

-- name: radar_of_task
-- The same for one task.
SELECT * FROM urgent_jobs WHERE ws = :ws AND task_id = :task
  AND (status = :status OR (CAST(:status AS TEXT) IS NULL AND status IN ('QUEUED', 'RUNNING')))
  AND (CAST(:anchor AS TEXT) IS NULL OR anchor_id = :anchor) ORDER BY urgency DESC, n LIMIT :limit

-- name: radar_of_anchor
-- The same for one anchor.
SELECT * FROM urgent_jobs WHERE ws = :ws AND anchor_id = :anchor
  AND (status = :status OR (CAST(:status AS TEXT) IS NULL AND status IN ('QUEUED', 'RUNNING')))
ORDER BY urgency DESC, n LIMIT :limit

-- name: radar_one_status
-- Only the queued or only the running jobs.
SELECT * FROM urgent_jobs WHERE ws = :ws AND status IN ('QUEUED', 'RUNNING') AND status = :status
ORDER BY urgency DESC, n LIMIT :limit

-- name: radar_of_status
-- The newest jobs of one status.
SELECT * FROM jobs WHERE ws = :ws AND status = :status ORDER BY n DESC LIMIT :limit

-- name: use_add
-- Add what an agent used for a job on a day.
INSERT INTO agent_use (ws, day, n, agent, input_tokens, output_tokens, cost_microusd, uncosted)
VALUES (:ws, :day, :n, :agent, :input_tokens, :output_tokens, :cost_microusd, :uncosted)
ON CONFLICT (ws, day, n, agent) DO UPDATE SET
    input_tokens = agent_use.input_tokens + excluded.input_tokens,
    output_tokens = agent_use.output_tokens + excluded.output_tokens,
    cost_microusd = agent_use.cost_microusd + excluded.cost_microusd,
    uncosted = agent_use.uncosted + excluded.uncosted

-- part: use_sums
-- The sums of what was used.
COUNT(DISTINCT u.n) AS jobs, COALESCE(SUM(u.input_tokens), 0) AS input_tokens,
COALESCE(SUM(u.output_tokens), 0) AS output_tokens,
COALESCE(SUM(u.cost_microusd), 0) AS cost_microusd, COALESCE(SUM(u.uncosted), 0) AS uncosted

-- name: use_in_all
-- The total use since a day.
SELECT {use_sums} FROM agent_use AS u WHERE u.ws = :ws AND u.day >= :since

-- name: use_by_day
-- Use by day, newest first.
SELECT u.day AS what, {use_sums} FROM agent_use AS u WHERE u.ws = :ws AND u.day >= :since
GROUP BY u.day ORDER BY u.day DESC LIMIT :limit

-- name: use_by_agent
-- Use by agent.
SELECT u.agent AS what, {use_sums} FROM agent_use AS u WHERE u.ws = :ws AND u.day >= :since
GROUP BY u.agent ORDER BY u.agent LIMIT :limit

-- name: use_by_task
-- Use by the task of the job; '' for jobs without a task.
SELECT COALESCE(j.task_id, '') AS what, {use_sums} FROM agent_use AS u
JOIN jobs AS j ON j.ws = u.ws AND j.n = u.n WHERE u.ws = :ws AND u.day >= :since
GROUP BY COALESCE(j.task_id, '') ORDER BY COALESCE(j.task_id, '') LIMIT :limit

-- name: usage_of_task
-- What all jobs of a task have used.
SELECT COUNT(*) AS jobs, COALESCE(SUM(input_tokens), 0) AS input_tokens,
       COALESCE(SUM(output_tokens), 0) AS output_tokens,
       COALESCE(SUM(cost_microusd), 0) AS cost_microusd, COALESCE(SUM(uncosted), 0) AS uncosted
FROM jobs WHERE ws = :ws AND task_id = :task

-- name: active_of_task
-- The unfinished job that represents a task where only one is shown.
SELECT * FROM jobs WHERE ws = :ws AND task_id = :task AND status IN ('QUEUED', 'RUNNING')
ORDER BY CASE status WHEN 'RUNNING' THEN 0 ELSE 1 END, n DESC LIMIT 1

-- name: lease_one
-- The lease of one runner, active or expired.
SELECT * FROM runner_leases WHERE ws = :ws AND runner_id = :runner_id

-- name: lease_put
-- Renew or create a runner's lease; returns no row while another token holds that name.
INSERT INTO runner_leases
    (ws, runner_id, status, active_job_id, lease_expires_at_ms, online, offers, meta,
     created_at_ms, updated_at_ms, owner, since_ms)
VALUES (:ws, :runner_id, :status, :active_job_id, :expires, 1, :offers, :meta, :now, :now, :owner,
     :now) ON CONFLICT (ws, runner_id) DO UPDATE SET status = excluded.status,
    active_job_id = excluded.active_job_id, lease_expires_at_ms = excluded.lease_expires_at_ms,
    online = 1, offers = excluded.offers, meta = excluded.meta,
    updated_at_ms = excluded.updated_at_ms, owner = excluded.owner,
    since_ms = CASE WHEN CAST(:anew AS INTEGER) = 1 THEN excluded.since_ms
        ELSE runner_leases.since_ms END
WHERE runner_leases.owner = excluded.owner OR runner_leases.lease_expires_at_ms <= :now RETURNING *

-- name: leases_lapsed
-- Leases that expired since the last check; each is returned once.
UPDATE runner_leases SET online = 0 WHERE ws = :ws AND lease_expires_at_ms <= :now AND online = 1
RETURNING runner_id, status, active_job_id

-- name: leases_forget
-- Delete the leases of runners that have been gone for long.
DELETE FROM runner_leases WHERE ws = :ws AND lease_expires_at_ms < :before

-- name: leases_active
-- The runners that are online, each with how many jobs it holds.
SELECT l.*, ( SELECT COUNT(*) FROM jobs AS j
    WHERE j.ws = l.ws AND j.status = 'RUNNING' AND j.runner_id = l.runner_id ) AS running
FROM runner_leases AS l WHERE l.ws = :ws AND l.lease_expires_at_ms > :now
ORDER BY l.runner_id LIMIT :limit

-- name: leases_offline
-- The runners that went offline recently, latest first.
SELECT * FROM runner_leases
WHERE ws = :ws AND lease_expires_at_ms <= :now AND lease_expires_at_ms > :since
ORDER BY lease_expires_at_ms DESC, runner_id LIMIT :limit

-- name: leases_counted
-- The number of runners in each state.
SELECT COALESCE(SUM(CASE WHEN lease_expires_at_ms > :now AND status = 'live' THEN 1 ELSE 0 END), 0)
           AS live,
       COALESCE(SUM(CASE WHEN lease_expires_at_ms > :now AND status = 'idle' THEN 1 ELSE 0 END), 0)
           AS idle,
       COALESCE(SUM(CASE WHEN lease_expires_at_ms <= :now THEN 1 ELSE 0 END), 0) AS offline
FROM runner_leases WHERE ws = :ws AND lease_expires_at_ms > :since

-- name: refs_to_processes
-- The refs of jobs that cite a background process as proof.
SELECT refs FROM jobs WHERE ws = :ws AND refs LIKE '%"PROC-%'

-- name: claims_clamp
-- Shorten claims that were made under a clock that was ahead.
UPDATE jobs SET claim_expires_at_ms = :longest
WHERE ws = :ws AND status = 'RUNNING' AND claim_expires_at_ms > :longest

-- name: leases_clamp
-- The same for the leases of runners.
UPDATE runner_leases SET lease_expires_at_ms = :longest
WHERE ws = :ws AND lease_expires_at_ms > :longest
