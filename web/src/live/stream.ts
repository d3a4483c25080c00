// A server-sent event stream, read with fetch so that the token stays in a header.
import { CallError } from "../api/calls";
import type { Batch, LogRow } from "./log";

export interface Heard {
  /** The head of the log when the stream was opened. */
  hello?: number;
  /** The time of the seq that a bounded read ends at. */
  ts_ms?: number;
  batch?: Batch;
}

/** A bounded read: the seq where it ends, and which rows to include. */
export interface Stretch {
  until: number;
  streams?: readonly string[];
}

/** The server sends something every 15 seconds; a connection silent for this long is dead. */
const DEAD_MS = 40_000;

/** Follow the log after a seq until the stream ends; throws if it cannot be opened. */
export async function* follow(
  token: string,
  workspace: string | null,
  after: number,
  signal: AbortSignal,
  stretch?: Stretch,
): AsyncGenerator<Heard> {
  const query = new URLSearchParams(workspace ? { workspace } : {});
  if (stretch) query.set("until", String(stretch.until));
  for (const stream of stretch?.streams ?? []) query.append("stream", stream);
  const dead = new AbortController();
  const end = () => dead.abort();
  let silence = setTimeout(end, DEAD_MS);
  try {
    const answer = await fetch(`/events?${query}`, {
      headers: { authorization: `Bearer ${token}`, "last-event-id": String(after) },
      signal: AbortSignal.any([signal, dead.signal]),
    });
    if (!answer.ok || !answer.body) {
      throw new CallError(
        `HTTP_${answer.status}`,
        "The server refused the event stream.",
        null,
        true,
      );
    }
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let at = after;
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(silence);
      silence = setTimeout(end, DEAD_MS);
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop() ?? "";
      const rows: LogRow[] = [];
      let upto = at;
      for (const block of blocks) {
        const event = parse(block);
        upto = Math.max(upto, event.id);
        if (event.name === "hello") {
          const { head, ts_ms } = JSON.parse(event.data);
          yield { hello: head, ts_ms };
        } else if (event.data && !LAST.has(event.name)) rows.push(JSON.parse(event.data));
      }
      yield { batch: { after: at, upto, rows } };
      at = upto;
    }
  } finally {
    clearTimeout(silence);
  }
}

/** Events that end a stream; they are not rows. */
const LAST = new Set(["resume", "end"]);

function parse(block: string): { id: number; name: string; data: string } {
  const event = { id: 0, name: "", data: "" };
  for (const line of block.split("\n")) {
    if (line.startsWith("id: ")) event.id = Number(line.slice(4));
    else if (line.startsWith("event: ")) event.name = line.slice(7);
    else if (line.startsWith("data: ")) event.data += line.slice(6);
  }
  return event;
}
