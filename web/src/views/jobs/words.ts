// The text and color of a job's states.
import type { Attention, RadarRow, Waiting } from "../../api/types";
import type { Tone } from "../../kit/parts";

export type Status = RadarRow["status"];

export const STATUS: Record<Status, [string, Tone]> = {
  QUEUED: ["Queued", "plain"],
  RUNNING: ["Running", "info"],
  DONE: ["Done", "ok"],
  FAILED: ["Failed", "bad"],
  CANCELED: ["Canceled", "plain"],
};

/** Why a job needs attention; null if it does not. */
export function attentionWords(
  attention: Attention,
  waiting?: Waiting | null,
): [string, Tone] | null {
  if (waiting?.code === "held") return ["Held", "warn"];
  if (attention.needs_manager) return ["Question", "accent"];
  if (attention.needs_proof) return ["Proof missing", "warn"];
  if (attention.has_error) return ["Error", "bad"];
  if (attention.stale) return ["Runner silent", "warn"];
  return null;
}

/** Why a queued job does not run, and what would help. */
export function waitingWords(waiting: Waiting): string {
  return waiting.fix ? `${waiting.why}. Fix: ${waiting.fix}` : `${waiting.why}.`;
}

export const ENDED: readonly Status[] = ["DONE", "FAILED", "CANCELED"];

export function money(usd: number | "unknown" | null | undefined): string {
  if (typeof usd !== "number") return "cost unknown";
  return `$${usd < 1 ? usd.toFixed(3) : usd.toFixed(2)}`;
}

export function count(number: number): string {
  return Intl.NumberFormat("en", { notation: number > 99_999 ? "compact" : "standard" }).format(
    number,
  );
}
