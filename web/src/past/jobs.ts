// Jobs at a past seq: the radar, lists, and single jobs.
import type { Job, JobEvent, RadarRow, RunnerLease } from "../api/types";
import { type Answers, notYet } from "./answers";
import type { Past, PastJob } from "./fold";

const OVER = new Set(["CANCELED", "DONE", "FAILED"]);
const ENDS = new Set(["canceled", "completed", "failed"]);

function attentionOf(job: PastJob): RadarRow["attention"] {
  const { seqs } = job;
  const open = !OVER.has(job.status);
  return {
    needs_manager: open && seqs.question > seqs.manager,
    needs_proof: open && seqs.proof_gate > seqs.proof,
    has_error: open && seqs.error > seqs.claim,
    stale: false,
  };
}

function urgency(job: PastJob): number {
  const { needs_manager, needs_proof, has_error } = attentionOf(job);
  if (needs_manager) return 3;
  return needs_proof || has_error ? 2 : job.status === "RUNNING" ? 1 : 0;
}

/** Newest first, by number, like the server's lists. */
function newest(a: PastJob, b: PastJob): number {
  return Number(b.id.slice("JOB-".length)) - Number(a.id.slice("JOB-".length));
}

function radarRow(job: PastJob): RadarRow {
  const { last, question } = job;
  const attention = attentionOf(job);
  return {
    ref: last.ref,
    id: job.id,
    status: job.status,
    title: job.title,
    attention,
    runner: job.runner,
    task_id: job.task,
    percent: job.percent,
    updated_at_ms: job.updated,
    last,
    question: attention.needs_manager && question ? { ...question, reply: {} } : null,
  };
}

/** Today's job with every field that changes set to its value then. */
function asThen(job: PastJob, today: Job | undefined): Job {
  const ended = OVER.has(job.status);
  return {
    kind: "",
    priority: "MEDIUM",
    ...today,
    id: job.id,
    title: today?.title ?? job.title,
    revision: job.revision,
    status: job.status,
    task_id: today?.task_id ?? job.task,
    runner: job.runner,
    claim_expires_at_ms: null,
    last_heartbeat_ms: null,
    percent: job.percent,
    summary: ended ? (today?.summary ?? null) : null,
    refs: ended ? (today?.refs ?? []) : [],
    usage: null,
    last_ref: job.last.ref,
    created_at_ms: job.created,
    updated_at_ms: job.updated,
    completed_at_ms: ended ? job.updated : null,
  };
}

/** The outcome then: today's job has it unless it was requeued since; then it is in the events. */
function endOf(job: PastJob, today: Job, events: JobEvent[]): Partial<Job> {
  if (!OVER.has(job.status) || today.revision === job.revision) return {};
  const end = events.find(({ kind }) => ENDS.has(kind));
  if (!end) return {};
  // A job that was canceled without a reason has no summary.
  const unsaid = end.kind === "canceled" && end.message === "canceled";
  return { summary: unsaid ? null : end.message, refs: end.refs ?? [] };
}

function runners(past: Past, here: boolean): RunnerLease[] {
  return [...past.runners.values()]
    .filter((runner) => runner.here === here)
    .map((runner) => ({
      runner_id: runner.id,
      status: runner.status,
      active_job_id: runner.job,
      // Renewals leave no row: a runner not reported offline is assumed to have held its lease.
      lease_expires_at_ms: here ? past.now + 60_000 : runner.updated,
      created_at_ms: runner.updated,
      updated_at_ms: runner.updated,
      lease_active: here,
      expires_in_ms: 0,
    }));
}

export const jobAnswers: Answers = {
  "jobs.radar": ({ past }, args, now) => {
    const found = [...past.jobs.values()]
      .filter((job) => (args.status ? job.status === args.status : !OVER.has(job.status)))
      .sort((a, b) => (args.status ? newest(a, b) : urgency(b) - urgency(a) || newest(b, a)));
    const limit = args.limit ?? found.length;
    const page = (all: RunnerLease[]) => ({ runners: all, count: all.length, has_more: false });
    return {
      ...now,
      jobs: found.slice(0, limit).map(radarRow),
      count: Math.min(found.length, limit),
      has_more: found.length > limit,
      runner_leases: page(runners(past, true)),
      runner_leases_offline: page(runners(past, false)),
      runner_bootstrap: null,
    };
  },
  "jobs.list": ({ past }, args, now) => {
    const today = new Map(now.jobs.map((job) => [job.id, job]));
    const found = [...past.jobs.values()]
      .filter((job) => !args.status || job.status === args.status)
      .filter((job) => !args.task || job.task === args.task)
      .sort(newest);
    const limit = args.limit ?? found.length;
    return {
      ...now,
      jobs: found.slice(0, limit).map((job) => asThen(job, today.get(job.id))),
      count: Math.min(found.length, limit),
      has_more: found.length > limit,
    };
  },
  "jobs.open": ({ past, seq }, args, now) => {
    const job = past.jobs.get(args.job);
    if (!job) throw notYet(args.job);
    const events = now.events.filter((event) => event.seq <= seq);
    return {
      ...now,
      job: { ...asThen(job, now.job), ...endOf(job, now.job, events) },
      attention: attentionOf(job),
      events,
      count: events.length,
      has_more_events: now.has_more_events,
      holds: [],
    };
  },
  "jobs.usage": (_, __, now) => ({ ...now, total: null }) as unknown as typeof now,
};
