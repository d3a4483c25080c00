// Which log rows are shown, according to the address.
import { withoutMarks } from "../../kit/words";
import type { LogRow } from "../../live/log";

export interface Wanted {
  who: string;
  item: string;
  stream: string;
  kind: string;
}

export interface Filter extends Wanted {
  /** Only rows of the last this many milliseconds; 0 is any time. */
  within: number;
}

const MINUTE_MS = 60_000;
export const TIMES: Record<string, [string, number]> = {
  "": ["Any time", 0],
  "15m": ["The last 15 minutes", 15 * MINUTE_MS],
  "1h": ["The last hour", 60 * MINUTE_MS],
  "1d": ["The last day", 24 * 60 * MINUTE_MS],
  "7d": ["The last week", 7 * 24 * 60 * MINUTE_MS],
};

export const STREAMS: Record<string, string> = {
  "": "Main events",
  crew: "Agents and files",
  work: "Work",
  jobs: "Jobs",
  processes: "Processes",
  memory: "Memory",
  thinking: "Reasoning",
  artifacts: "Artifacts",
  system: "System",
};

export function filterOf(query: URLSearchParams): Filter {
  const said = (name: string) => (query.get(name) ?? "").trim();
  return {
    who: said("agent"),
    item: said("item"),
    stream: said("stream"),
    kind: said("kind"),
    within: TIMES[said("within")]?.[1] ?? 0,
  };
}

export function isFiltered(filter: Filter): boolean {
  return Boolean(filter.who || filter.item || filter.stream || filter.kind || filter.within);
}

/** Process output: shown only when Processes is selected, or it would bury everything else. */
const OUTPUT = new Set(["tool_stdout", "tool_stderr", "tool_task_output_delta"]);

/** Whether a row repeats another: a job's event recorded on its task, or a task's own trace. */
function isEcho(row: LogRow): boolean {
  return row.stream === "memory" ? row.kind === "event" : /^job_/.test(row.kind);
}

export function matches(row: LogRow, wanted: Wanted): boolean {
  return (
    (wanted.stream ? row.stream === wanted.stream : !OUTPUT.has(row.kind)) &&
    (wanted.stream || wanted.item ? true : !isEcho(row)) &&
    (!wanted.item || row.subject.toLowerCase() === wanted.item.toLowerCase()) &&
    (!wanted.who || (row.actor ?? "").toLowerCase().includes(wanted.who.toLowerCase())) &&
    (!wanted.kind || inWords(row.kind).includes(inWords(wanted.kind)))
  );
}

/** `step_done` as "step done". */
export function inWords(kind: string): string {
  return kind.replaceAll("_", " ").toLowerCase();
}

/** A one-line summary of a row from any room. */
export function gist(row: LogRow): string {
  const data = row.data as Record<string, unknown>;
  const payload = (data.payload ?? {}) as Record<string, unknown>;
  for (const from of [payload, data]) {
    for (const name of [
      "subject",
      "message",
      "note",
      "summary",
      "title",
      "content",
      "text",
      "chunk",
      "scope",
    ]) {
      const said = from[name];
      if (typeof said === "string" && said.trim()) return plain(said.trim().slice(0, MOST_CHARS));
    }
  }
  return Object.entries(data)
    .filter(([, value]) => isShort(value))
    .slice(0, MOST_FACTS)
    .map(([name, value]) => `${inWords(name)}: ${value}`)
    .join(" · ");
}

const MOST_CHARS = 300;
const MOST_FACTS = 3;

function isShort(value: unknown): boolean {
  return typeof value === "number" || (typeof value === "string" && /^\S{1,40}$/.test(value));
}

/** A text without Markdown marks; the name of a kind also without its underscores. */
function plain(said: string): string {
  return /^[a-z]+(_[a-z]+)+$/.test(said) ? inWords(said) : withoutMarks(said);
}
