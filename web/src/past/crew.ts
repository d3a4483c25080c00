// The crew at a past seq: the agents, their reservations, and messages waiting to be accepted.
import { session } from "../api/session";
import type {
  Agent,
  ChangeOutside,
  FileOutside,
  Group,
  Message,
  ProtocolEvent,
  Reservation,
  SessionCard,
} from "../api/types";
import type { LogRow } from "../live/log";
import type { Answers } from "./answers";
import type { Past, PastAgent, PastHold, PastTask } from "./fold";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const MOST_FILES = 12;
const CLOSED = new Set(["DONE", "CANCELED"]);

const iso = (ms: number) => new Date(ms).toISOString();

function liveness(past: Past, agent: PastAgent | undefined): Agent["liveness"] {
  const stale = (session.get().me?.stale_minutes ?? 15) * MINUTE_MS;
  const silent = past.now - (agent?.seen ?? 0);
  return silent >= 2 * stale ? "evicted" : silent >= stale ? "stale" : "active";
}

function agentThen(past: Past, agent: PastAgent, today: Agent | undefined): Agent {
  return {
    session_agent_id: agent.id,
    logical_agent_id: agent.id,
    display_name: agent.id,
    status: "",
    ...today,
    agent_id: agent.id,
    kind: agent.kind,
    role: agent.role,
    liveness: liveness(past, agent),
    created_at: iso(agent.created),
    last_seen_at: iso(agent.seen),
    retired_at: null,
  };
}

function holdThen(past: Past, held: PastHold): Reservation {
  return {
    reservation_id: `res_${held.seq}`,
    seq: held.seq,
    ref: `${held.item}@${held.seq}`,
    scope: held.scope,
    mode: held.mode,
    agent_id: held.agent,
    bead_id: held.item,
    state: "active",
    created_at: iso(held.created),
    // Renewals leave no row: a scope that was neither released nor taken over was still held.
    expires_at: iso(Math.max(held.expires, past.now)),
    owner_liveness: liveness(past, past.agents.get(held.agent)),
  };
}

function waiting(past: Past): Message[] {
  return [...past.messages.values()]
    .filter((one) => one.requires_ack && one.state !== "acked")
    .map((one) => ({ body: "", ...one }))
    .reverse();
}

function incursionOf(row: LogRow): ProtocolEvent {
  const said = row.data as Omit<
    ProtocolEvent,
    "id" | "version" | "event_type" | "created_at" | "ref"
  >;
  return {
    ...said,
    id: row.ref,
    version: "v1",
    event_type: "INCURSION",
    created_at: iso(row.ts_ms),
    ref: row.ref,
  };
}

function outsideOf(row: LogRow): ChangeOutside {
  const said = row.data as { agent?: string; job?: string; files?: FileOutside[]; more?: number };
  const { files = [] } = said;
  return {
    seq: row.seq,
    ref: row.ref,
    agent_id: said.agent ?? "",
    job_id: said.job ?? null,
    bead_id: row.subject,
    at: iso(row.ts_ms),
    files: files.slice(0, MOST_FILES),
    unnamed: files.slice(MOST_FILES).length,
    more: said.more ?? 0,
  };
}

function stateOf(past: Past, task: PastTask, due: boolean): SessionCard["session_state"] {
  if (CLOSED.has(task.status)) return "completed";
  if (due) return "needs_input";
  const owner = task.assignee ? past.agents.get(task.assignee) : undefined;
  const alive = owner ? liveness(past, owner) : "active";
  if (alive !== "active") return alive;
  const stale = (session.get().me?.stale_minutes ?? 15) * MINUTE_MS;
  if (past.now - task.updated >= stale) return "stale";
  return task.status === "ACTIVE" ? "active" : "deciding";
}

function cardOf(past: Past, task: PastTask): SessionCard {
  const talk = past.talk.get(task.id);
  const due = Boolean(talk?.due);
  const plan = past.plans.get(task.plan);
  return {
    id: task.id,
    title: task.title,
    epic: { id: task.plan, title: plan?.title ?? task.plan },
    status: task.status,
    session_state: stateOf(past, task, due),
    owner: task.assignee ?? null,
    last_actor: talk?.actor ?? null,
    last_activity_at: iso(Math.max(task.updated, talk?.at ?? 0)),
    communication: {
      unread_count: talk?.unread ?? 0,
      pending_required: due,
      latest_snippet: talk?.subject ?? null,
    },
  };
}

/** The owners of these items by role, each group with its health. */
function groupsOf(past: Past, tasks: PastTask[]): Group[] {
  const roles = new Map<string, Set<PastAgent>>();
  for (const { assignee } of tasks) {
    const owner = past.agents.get(assignee ?? "");
    if (owner) roles.set(owner.role, (roles.get(owner.role) ?? new Set()).add(owner));
  }
  return [...roles.keys()].sort().map((role) => {
    const members = [...(roles.get(role) ?? [])];
    return { role, agents: members.map((one) => one.id).sort(), health: healthOf(past, members) };
  });
}

function healthOf(past: Past, members: PastAgent[]): Group["health"] {
  const states = new Set(members.map((one) => liveness(past, one)));
  if (states.has("evicted")) return states.size === 1 ? "offline" : "critical";
  return states.has("stale") ? "warning" : "active";
}

export const crewAnswers: Answers = {
  "agents.list": ({ past }, args, now) => {
    const today = new Map(now.agents.map((agent) => [agent.agent_id, agent]));
    const agents = [...past.agents.values()]
      .sort((a, b) => b.seen - a.seen)
      .slice(0, args.limit ?? past.agents.size)
      .map((agent) => agentThen(past, agent, today.get(agent.id)));
    return { ...now, agents, count: agents.length, has_more: agents.length < past.agents.size };
  },
  "agents.status": ({ past }, _args, now) => {
    const reservations = [...past.holds.values()].map((held) => holdThen(past, held)).reverse();
    const due = waiting(past);
    return {
      ...now,
      reservations,
      unacked_required_messages: due,
      outside: [...past.outside].reverse().map(outsideOf),
      summary: {
        ...now.summary,
        active: reservations.length,
        unacked_required_messages: due.length,
      },
      count: reservations.length,
      has_more: false,
      next_cursor: null,
      truncated: false,
    };
  },
  "agents.sessions": ({ past }, args, now) => {
    const found = [...past.tasks.values()].filter(
      (task) => !args.open_only || !CLOSED.has(task.status),
    );
    const shown = found.slice(0, args.limit ?? found.length);
    const recent = past.incursions.filter((row) => row.ts_ms > past.now - DAY_MS);
    return {
      ...now,
      sessions: shown.map((task) => cardOf(past, task)),
      agents: [],
      groups: groupsOf(past, shown),
      incursions: recent.reverse().map(incursionOf),
      count: shown.length,
      has_more: shown.length < found.length,
      next_cursor: null,
    };
  },
  "agents.conversation": ({ past, seq }, _args, now) => {
    const thread = now.thread
      .filter((moment) => moment.seq <= seq)
      .map((moment) => {
        const then = moment.message && past.messages.get(moment.message.message_id);
        if (!moment.message || !then) return moment;
        const { state, read_at, acked_at } = then;
        return { ...moment, message: { ...moment.message, state, read_at, acked_at } };
      });
    return { ...now, thread, count: thread.length };
  },
};
