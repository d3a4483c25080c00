// One server-sent stream, read with fetch so that the token stays in a header.
import { CallError } from "../api/calls";
import type { Batch, LogRow } from "./log";

export interface Heard {
  /** The end of the log when the stream was opened. */
  hello?: number;
  batch?: Batch;
}

/** Follow the log after a seq until the stream ends; throws when it cannot be opened. */
export async function* follow(
  token: string,
  workspace: string | null,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Heard> {
  const where = workspace ? `?workspace=${encodeURIComponent(workspace)}` : "";
  const answer = await fetch(`/events${where}`, {
    headers: { authorization: `Bearer ${token}`, "last-event-id": String(after) },
    signal,
  });
  if (!answer.ok || !answer.body) {
    throw new CallError(`HTTP_${answer.status}`, "The stream was refused.", null, true);
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let at = after;
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop() ?? "";
    const rows: LogRow[] = [];
    let upto = at;
    for (const block of blocks) {
      const event = parse(block);
      upto = Math.max(upto, event.id);
      if (event.name === "hello") yield { hello: JSON.parse(event.data).head };
      else if (event.data && event.name !== "resume") rows.push(JSON.parse(event.data));
    }
    yield { batch: { after: at, upto, rows } };
    at = upto;
  }
}

function parse(block: string): { id: number; name: string; data: string } {
  const event = { id: 0, name: "", data: "" };
  for (const line of block.split("\n")) {
    if (line.startsWith("id: ")) event.id = Number(line.slice(4));
    else if (line.startsWith("event: ")) event.name = line.slice(7);
    else if (line.startsWith("data: ")) event.data += line.slice(6);
  }
  return event;
}
