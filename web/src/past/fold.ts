// The rooms' state at a past seq, as far as the log records it. Only what views show is kept of each
// row, so that the state of a large workspace fits into a tab.
import type { Message } from "../api/types";
import type { LogRow } from "../live/log";

const MOST_INCURSIONS = 10;
const MOST_OUTSIDE = 20;
const MOST_LAST = 160;
const MOST_QUESTION = 300;

/** What is kept of the newest row about a job. */
interface Last {
  ref: string;
  kind: string;
  message: string | null;
}

export interface PastJob {
  id: string;
  title: string;
  task: string | null;
  status: "CANCELED" | "DONE" | "FAILED" | "QUEUED" | "RUNNING";
  revision: number;
  runner: string | null;
  percent: number | null;
  created: number;
  updated: number;
  last: Last;
  question: { ref: string; text: string } | null;
  /** The newest seq of each kind of event that decides whether it needs attention. */
  seqs: Record<"question" | "manager" | "proof_gate" | "proof" | "error" | "claim", number>;
}

export interface PastTask {
  id: string;
  title: string;
  plan: string;
  status: "ACTIVE" | "CANCELED" | "DONE" | "PARKED" | "TODO";
  /** Undefined if the log does not say. */
  assignee: string | null | undefined;
  steps: Map<string, boolean>;
  created: number;
  updated: number;
}

/** The messages and activity of a work item. */
export interface PastTalk {
  unread: number;
  due: number;
  subject: string | null;
  actor: string | null;
  at: number;
}

export interface PastPlan {
  id: string;
  title: string;
  status: PastTask["status"];
}

/** A message; its body is kept only while it waits to be accepted. */
export type PastMessage = Omit<Message, "body"> & { body?: string };

export interface PastAgent {
  id: string;
  role: string;
  kind: "agent" | "job" | "person";
  created: number;
  seen: number;
}

export interface PastHold {
  seq: number;
  scope: string;
  mode: "exclusive" | "shared";
  agent: string;
  item: string;
  created: number;
  expires: number;
}

export interface PastRunner {
  id: string;
  status: "idle" | "live";
  job: string | null;
  here: boolean;
  updated: number;
}

export class Past {
  /** All rows up to this seq are folded. */
  seq = 0;
  /** The time at that seq. */
  now = 0;
  /** How many rows were folded. */
  rows = 0;
  jobs = new Map<string, PastJob>();
  tasks = new Map<string, PastTask>();
  plans = new Map<string, PastPlan>();
  agents = new Map<string, PastAgent>();
  holds = new Map<number, PastHold>();
  messages = new Map<string, PastMessage>();
  talk = new Map<string, PastTalk>();
  runners = new Map<string, PastRunner>();
  /** The newest ones only, as many as views show. */
  incursions: LogRow[] = [];
  outside: LogRow[] = [];

  /** A deep copy, to fold more rows into. */
  copy(): Past {
    return Object.assign(new Past(), structuredClone({ ...this }));
  }

  add(row: LogRow): void {
    this.rows += 1;
    const agent = row.actor ? this.agents.get(row.actor) : undefined;
    if (agent) agent.seen = row.ts_ms;
    if (row.stream === "jobs") this.job(row);
    else if (row.stream === "work") this.work(row);
    else if (row.stream === "crew") this.crew(row);
  }

  private job(row: LogRow): void {
    const said = row.data as JobSaid;
    if (row.subject.startsWith("runner:")) {
      const id = row.subject.slice("runner:".length);
      const { status, job } = row.data as { status: "idle" | "live"; job?: string };
      const here = row.kind !== "offline";
      this.runners.set(id, { id, status, job: job ?? null, here, updated: row.ts_ms });
      return;
    }
    const before = this.jobs.get(row.subject);
    const job: PastJob = before ?? {
      id: row.subject,
      title: said.message ?? row.subject,
      task: null,
      status: "QUEUED",
      revision: 0,
      runner: null,
      percent: null,
      created: row.ts_ms,
      updated: row.ts_ms,
      last: lastOf(row, said),
      question: null,
      seqs: { question: 0, manager: 0, proof_gate: 0, proof: 0, error: 0, claim: 0 },
    };
    job.status = said.status ?? job.status;
    job.revision = said.revision ?? job.revision;
    job.runner = job.status === "RUNNING" ? (said.runner_id ?? job.runner) : null;
    job.percent = said.percent ?? said.reached ?? (row.kind === "requeued" ? null : job.percent);
    job.updated = row.ts_ms;
    job.last = lastOf(row, said);
    note(job, row, said);
    this.jobs.set(row.subject, job);
  }

  private work(row: LogRow): void {
    // A row that is too large for the stream arrives without its data.
    const { payload = {}, path } = row.data as { payload?: WorkSaid; path?: string };
    if (row.kind === "plan_created") {
      const { title = row.subject } = payload;
      this.plans.set(row.subject, { id: row.subject, title, status: "TODO" });
    } else if (row.kind === "task_created") {
      this.tasks.set(row.subject, {
        id: row.subject,
        title: payload.title ?? row.subject,
        plan: payload.plan ?? "",
        status: "TODO",
        assignee: payload.assignee,
        steps: new Map(),
        created: row.ts_ms,
        updated: row.ts_ms,
      });
    } else if (row.kind === "plan_deleted") this.plans.delete(row.subject);
    else if (row.kind === "task_deleted") this.tasks.delete(row.subject);
    const plan = this.plans.get(row.subject);
    if (plan && payload.status) plan.status = payload.status;
    const task = this.tasks.get(row.subject);
    if (!task) return;
    const job = payload.job ? this.jobs.get(payload.job) : undefined;
    if (job) job.task = task.id;
    if (!row.kind.startsWith("job_")) task.updated = row.ts_ms;
    if (row.kind === "task_patched" || row.kind === "task_completed") {
      task.status = payload.status ?? task.status;
      if (payload.fields?.includes("assignee")) task.assignee = payload.assignee;
    }
    for (const step of row.kind === "steps_added" ? (payload.steps ?? []) : []) {
      task.steps.set(step.path, false);
    }
    if (!path) return;
    if (row.kind === "step_done") task.steps.set(path, true);
    else if (row.kind === "step_reopened") task.steps.set(path, false);
    else if (row.kind === "step_deleted") task.steps.delete(path);
  }

  private crew(row: LogRow): void {
    const { seq, ts_ms, subject } = row;
    const said = row.data as CrewSaid;
    if (row.kind === "registered" || row.kind === "returned" || row.kind === "updated") {
      const before = this.agents.get(subject);
      this.agents.set(subject, {
        id: subject,
        role: said.role ?? before?.role ?? "",
        kind: said.kind ?? before?.kind ?? "agent",
        created: before?.created ?? ts_ms,
        seen: ts_ms,
      });
    } else if (row.kind === "retired") {
      this.agents.delete(subject);
      for (const held of said.released ?? []) this.holds.delete(held);
    } else if (row.kind === "reserved") {
      for (const held of said.replaced ?? []) this.holds.delete(held);
      for (const held of said.taken_over ?? []) this.holds.delete(held.seq);
      const { scope = "", mode = "exclusive", agent = "", expires_at_ms = ts_ms } = said;
      const item = subject;
      this.touch(row, agent);
      this.holds.set(seq, {
        seq,
        scope,
        mode,
        agent,
        item,
        created: ts_ms,
        expires: expires_at_ms,
      });
    } else if (row.kind === "released" && said.reservation) {
      this.holds.delete(said.reservation);
      this.touch(row, said.agent);
    } else if (row.kind === "archived") {
      for (const held of said.reservations ?? []) this.holds.delete(held);
    } else if (row.kind === "accepted" || row.kind === "seen") {
      this.noticed(row, said);
    } else if (row.kind === "INCURSION") {
      this.incursions = [...this.incursions.slice(1 - MOST_INCURSIONS), row];
    } else if (row.kind === "changed_outside") {
      this.outside = [...this.outside.slice(1 - MOST_OUTSIDE), row];
      this.touch(row, said.agent);
    } else if (said.to_agent && said.from_agent && row.kind !== "RESUME") {
      const message = messageOf(row, said);
      this.messages.set(message.message_id, message);
      const talk = this.touch(row, message.from_agent);
      talk.unread += 1;
      talk.due += message.requires_ack ? 1 : 0;
      talk.subject = message.subject;
    }
  }

  /** Record activity on a work item. */
  private touch({ subject, actor, ts_ms }: LogRow, by: string | undefined): PastTalk {
    const talk = this.talk.get(subject) ?? { unread: 0, due: 0, subject: null, actor, at: 0 };
    talk.actor = by ?? actor;
    talk.at = ts_ms;
    this.talk.set(subject, talk);
    return talk;
  }

  /** Record that a message was seen or accepted; an accepted one no longer needs its body. */
  private noticed(row: LogRow, said: CrewSaid): void {
    const talk = this.touch(row, said.agent);
    const message = this.messages.get(said.message_id ?? "");
    if (!message) return;
    const at = new Date(row.ts_ms).toISOString();
    const accepted = row.kind === "accepted";
    if (!message.read_at) talk.unread -= 1;
    if (accepted && !message.acked_at && message.requires_ack) talk.due -= 1;
    message.read_at ??= at;
    if (accepted) message.acked_at = at;
    message.state = message.acked_at ? "acked" : "read";
    if (accepted) message.body = undefined;
  }
}

function lastOf({ ref, kind }: LogRow, said: JobSaid): Last {
  return { ref, kind, message: clip(said.message, MOST_LAST) || null };
}

function clip(text: string | undefined, most: number): string {
  const line = (text ?? "").split(/\s+/).join(" ").trim();
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}

function note(job: PastJob, { kind, seq }: LogRow, said: JobSaid): void {
  const { seqs } = job;
  if (kind === "question" || kind === "manager" || kind === "proof_gate") seqs[kind] = seq;
  if (kind === "question") {
    job.question = { ref: job.last.ref, text: clip(said.message, MOST_QUESTION) };
  }
  if (said.proof) seqs.proof = seq;
  if (kind === "claimed" || kind === "reclaimed") seqs.claim = seq;
  else if (kind === "error" || kind === "retrying" || kind === "changes_wait" || kind === "held")
    seqs.error = seq;
  else if (kind === "requeued") {
    seqs.claim = 0;
    seqs.error = said.error ? seq : 0;
  } else if (kind === "released" || kind === "blocked" || kind === "waiting" || kind === "ready") {
    if (kind !== "released" || said.error) seqs.error = said.error ? seq : 0;
  }
}

function messageOf(row: LogRow, said: CrewSaid): PastMessage {
  const payload = said.payload ?? (said as NonNullable<CrewSaid["payload"]>);
  const subject = payload.subject ?? "";
  const requires_ack = payload.requires_ack ?? row.kind === "message";
  return {
    message_id: `msg_${row.seq}`,
    seq: row.seq,
    ref: row.ref,
    thread_id: "",
    bead_id: row.subject,
    from_agent: said.from_agent ?? "",
    to_agent: said.to_agent ?? "",
    category: (row.kind === "message" ? said.category : row.kind) as Message["category"],
    subject,
    body: requires_ack ? bodyOf(payload) || subject : undefined,
    state: "unread",
    requires_ack,
    created_at: new Date(row.ts_ms).toISOString(),
    read_at: null,
    acked_at: null,
  };
}

/** The body in the server's wording. */
function bodyOf(payload: NonNullable<CrewSaid["payload"]>): string {
  const { summary, next_action, blocker, requested_action, urgency, snippet } = payload;
  if (blocker) return `${blocker}\n\nAsked: ${requested_action} (urgency ${urgency})`;
  return summary ? `${summary}\n\nNext: ${next_action}` : (snippet ?? "");
}

interface JobSaid {
  message?: string;
  status?: PastJob["status"];
  revision?: number;
  runner_id?: string | null;
  percent?: number;
  /** The job's progress, when the row does not set `percent`. */
  reached?: number;
  proof?: boolean;
  error?: unknown;
}

interface WorkSaid {
  title?: string;
  plan?: string;
  status?: PastTask["status"];
  assignee?: string | null;
  fields?: string[];
  steps?: { path: string }[];
  job?: string;
}

interface CrewSaid {
  role?: string;
  kind?: PastAgent["kind"];
  agent?: string;
  scope?: string;
  mode?: PastHold["mode"];
  expires_at_ms?: number;
  replaced?: number[];
  taken_over?: { seq: number }[];
  released?: number[];
  reservation?: number;
  reservations?: number[];
  message_id?: string;
  from_agent?: string;
  to_agent?: string;
  category?: string;
  payload?: {
    subject?: string;
    summary?: string;
    blocker?: string;
    snippet?: string;
    next_action?: string;
    requested_action?: string;
    urgency?: string;
    requires_ack?: boolean;
  };
}
