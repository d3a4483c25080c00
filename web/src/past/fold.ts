// How the rooms stood at a moment, as far as the log tells it.
import type { Message } from "../api/types";
import type { LogRow } from "../live/log";

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
  last: LogRow;
  question: LogRow | null;
  /** The newest seq of each kind of event that decides what it needs. */
  seqs: Record<"question" | "manager" | "proof_gate" | "proof" | "error" | "claim", number>;
}

export interface PastTask {
  id: string;
  title: string;
  plan: string;
  status: "ACTIVE" | "CANCELED" | "DONE" | "PARKED" | "TODO";
  /** Undefined: the log does not say. */
  assignee: string | null | undefined;
  steps: Map<string, boolean>;
  created: number;
  updated: number;
  last: LogRow;
}

export interface PastPlan {
  id: string;
  title: string;
  status: PastTask["status"];
}

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
  jobs = new Map<string, PastJob>();
  tasks = new Map<string, PastTask>();
  plans = new Map<string, PastPlan>();
  agents = new Map<string, PastAgent>();
  holds = new Map<number, PastHold>();
  messages = new Map<string, Message>();
  runners = new Map<string, PastRunner>();
  incursions: LogRow[] = [];
  outside: LogRow[] = [];

  constructor(
    rows: readonly LogRow[],
    /** The time of that moment. */
    readonly now: number,
  ) {
    for (const row of rows) {
      const agent = row.actor ? this.agents.get(row.actor) : undefined;
      if (agent) agent.seen = row.ts_ms;
      if (row.stream === "jobs") this.job(row);
      else if (row.stream === "work") this.work(row);
      else if (row.stream === "crew") this.crew(row);
    }
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
      last: row,
      question: null,
      seqs: { question: 0, manager: 0, proof_gate: 0, proof: 0, error: 0, claim: 0 },
    };
    job.status = said.status ?? job.status;
    job.revision = said.revision ?? job.revision;
    job.runner = job.status === "RUNNING" ? (said.runner_id ?? job.runner) : null;
    job.percent = said.percent ?? job.percent;
    job.updated = row.ts_ms;
    job.last = row;
    note(job, row, said);
    this.jobs.set(row.subject, job);
  }

  private work(row: LogRow): void {
    // A row that is too large for the stream comes without its data.
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
        last: row,
      });
    } else if (row.kind === "plan_deleted") this.plans.delete(row.subject);
    else if (row.kind === "task_deleted") this.tasks.delete(row.subject);
    const plan = this.plans.get(row.subject);
    if (plan && payload.status) plan.status = payload.status;
    const task = this.tasks.get(row.subject);
    if (!task) return;
    const job = payload.job ? this.jobs.get(payload.job) : undefined;
    if (job) job.task = task.id;
    task.updated = row.ts_ms;
    task.last = row;
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
    } else if (row.kind === "archived") {
      for (const held of said.reservations ?? []) this.holds.delete(held);
    } else if (row.kind === "accepted" || row.kind === "seen") {
      const message = this.messages.get(said.message_id ?? "");
      if (!message) return;
      const at = new Date(ts_ms).toISOString();
      message.read_at ??= at;
      message.state = row.kind === "accepted" || message.acked_at ? "acked" : "read";
      if (row.kind === "accepted") message.acked_at = at;
    } else if (row.kind === "INCURSION") {
      this.incursions.push(row);
    } else if (row.kind === "changed_outside") {
      this.outside.push(row);
    } else if (said.to_agent && said.from_agent && row.kind !== "RESUME") {
      this.messages.set(`msg_${seq}`, messageOf(row, said));
    }
  }
}

function note(job: PastJob, { kind, seq }: LogRow, said: JobSaid): void {
  const { seqs } = job;
  if (kind === "question" || kind === "manager" || kind === "proof_gate") seqs[kind] = seq;
  if (kind === "question") job.question = job.last;
  if (said.proof) seqs.proof = seq;
  if (kind === "claimed" || kind === "reclaimed") seqs.claim = seq;
  else if (kind === "error" || kind === "retrying" || kind === "changes_wait") seqs.error = seq;
  else if (kind === "requeued") {
    seqs.claim = 0;
    seqs.error = said.error ? seq : 0;
  } else if (kind === "released" || kind === "blocked" || kind === "waiting" || kind === "ready") {
    if (kind !== "released" || said.error) seqs.error = said.error ? seq : 0;
  }
}

function messageOf(row: LogRow, said: CrewSaid): Message {
  const payload = said.payload ?? (said as NonNullable<CrewSaid["payload"]>);
  const text = [
    payload.summary,
    payload.blocker,
    payload.snippet,
    payload.next_action,
    payload.requested_action,
  ];
  const subject = payload.subject ?? "";
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
    body: text.filter(Boolean).join("\n\n") || subject,
    state: "unread",
    requires_ack: payload.requires_ack ?? row.kind === "message",
    created_at: new Date(row.ts_ms).toISOString(),
    read_at: null,
    acked_at: null,
  };
}

interface JobSaid {
  message?: string;
  status?: PastJob["status"];
  revision?: number;
  runner_id?: string | null;
  percent?: number;
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
    requires_ack?: boolean;
  };
}
