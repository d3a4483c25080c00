// Which records need the user, ranked by how much work each unblocks. Pure.
import type { Person } from "../../api/person";
import type {
  Asked,
  CrewStatus,
  JobRadar,
  Message,
  ProtocolEvent,
  RadarRow,
  Unapplied,
} from "../../api/types";

export type Need = {
  id: string;
  /** The subject of the act that settles it. */
  subject: string;
  since: number;
  frees: number;
  rank: number;
} & (
  | { kind: "question"; job: RadarRow; asked: Asked }
  | { kind: "changes"; job: RadarRow; waits: Unapplied }
  | { kind: "proof" | "error" | "failed" | "held" | "lapsed"; job: RadarRow }
  | { kind: "message" | "blocked"; message: Message }
  | { kind: "incursion"; event: ProtocolEvent }
);

/** The base weight of each kind; every job that it unblocks adds `FREED`. */
const WEIGHT: Record<Need["kind"], number> = {
  blocked: 65,
  question: 60,
  message: 55,
  changes: 45,
  proof: 40,
  error: 38,
  failed: 35,
  incursion: 25,
  lapsed: 20,
  held: 15,
};
const FREED = 10;
const DAY_MS = 24 * 60 * 60 * 1000;

export function rank(
  radar: JobRadar | undefined,
  failed: JobRadar | undefined,
  crew: CrewStatus | undefined,
  incursions: readonly ProtocolEvent[],
  me: Person | null,
  dismissed: readonly string[] = [],
): Need[] {
  const seen = new Set(dismissed);
  const found = [
    ...(radar?.jobs ?? []).flatMap(ofJob),
    ...(failed?.jobs ?? []).flatMap(ofJob),
    ...(crew?.unacked_required_messages ?? []).flatMap((message) => ofMessage(message, me)),
    ...incursions.map(ofIncursion),
  ];
  return found
    .filter((need) => !seen.has(need.id) && (need.kind !== "failed" || recent(need.since)))
    .sort((a, b) => b.rank - a.rank || a.since - b.since);
}

function recent(ms: number): boolean {
  return ms > Date.now() - 7 * DAY_MS;
}

function ofJob(job: RadarRow): Need[] {
  const since = job.since_ms ?? job.updated_at_ms;
  const base = { subject: job.id, since, frees: job.frees ?? 0 };
  const weigh = (kind: Need["kind"]) => WEIGHT[kind] + FREED * base.frees;
  const { attention } = job;
  if (job.question) {
    const id = job.question.ref;
    return [{ ...base, id, kind: "question", rank: weigh("question"), job, asked: job.question }];
  }
  if (job.changes) {
    const { changes: waits } = job;
    const id = `changes ${job.ref}`;
    return [{ ...base, id, kind: "changes", rank: weigh("changes"), job, waits }];
  }
  const kind =
    job.waiting?.code === "held"
      ? "held"
      : job.status === "FAILED"
        ? "failed"
        : attention.needs_proof
          ? "proof"
          : attention.has_error
            ? "error"
            : attention.stale
              ? "lapsed"
              : null;
  return kind ? [{ ...base, id: `${kind} ${job.ref}`, kind, rank: weigh(kind), job }] : [];
}

function ofMessage(message: Message, me: Person | null): Need[] {
  const mine = message.to_agent === me?.name;
  if (!mine && message.category !== "BLOCKED") return [];
  const kind = message.category === "BLOCKED" ? "blocked" : "message";
  return [
    {
      id: message.message_id,
      subject: message.message_id,
      since: Date.parse(message.created_at),
      frees: 0,
      rank: WEIGHT[kind] + (mine ? 5 : 0),
      kind,
      message,
    },
  ];
}

function ofIncursion(event: ProtocolEvent): Need {
  const since = Date.parse(event.created_at);
  const id = event.ref;
  return { id, subject: id, since, frees: 0, rank: WEIGHT.incursion, kind: "incursion", event };
}

/** Who is waiting and why, for a notification. */
export function inWords(need: Need): { who: string; why: string } {
  switch (need.kind) {
    case "question":
      return { who: `${need.job.title} has a question`, why: need.asked.text };
    case "changes":
      return { who: need.job.title, why: `Changes not applied: ${need.waits.why}` };
    case "proof":
      return { who: need.job.title, why: "Proof is missing" };
    case "error":
      return { who: need.job.title, why: need.job.last?.message ?? "Something went wrong" };
    case "failed":
      return { who: need.job.title, why: need.job.last?.message ?? "Failed" };
    case "held":
      return { who: need.job.title, why: "It came from elsewhere, and waits to be released" };
    case "lapsed":
      return { who: need.job.title, why: "Its runner went silent" };
    case "message":
    case "blocked":
      return { who: `${need.message.from_agent} needs input`, why: need.message.subject };
    case "incursion":
      return {
        who: `Reservation conflict: ${need.event.from_agent ?? "an agent"}`,
        why: need.event.scope ?? "",
      };
  }
}
