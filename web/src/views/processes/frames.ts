// A process's frames: read by their position in its stream, and followed with the log.
import { CallError, call } from "../../api/calls";
import { type LogRow, log } from "../../live/log";
import type { Stream } from "./words";

export interface Frame {
  /** Its position in the stream of the process. */
  seq: number;
  type: string;
  timestamp_ms: number;
  /** `PROC-001@4711`: its row in the log. */
  id: string;
  offset_bytes?: number;
  bytes?: number;
  /** The text; an output frame without it only refers to the stored bytes. */
  chunk?: string | null;
  rows?: number;
  cols?: number;
  [field: string]: unknown;
}

export const STREAM_OF: Record<string, Stream> = {
  tool_stdout: "stdout",
  tool_stderr: "stderr",
  tool_task_output_delta: "pty",
};
export const PAGE = 200;
const MOST_BYTES = 65_536;
const ENDED = ["exited", "cancelled", "failed"];

export async function readFrames(task: string, after: number, limit = PAGE) {
  const read = await call("tool.task_stream_events", {
    task_id: task,
    after_seq: after,
    limit,
    budget_profile: "audit",
  });
  const more = read.has_more || read.truncated;
  const over = ENDED.includes(read.status) && !more;
  return { frames: read.frames as unknown as Frame[], more, over };
}

export interface Piece {
  text: string;
  /** The byte range of the text in the stream. */
  from: number;
  to: number;
  /** The bytes after this piece that were not kept. */
  gap: { from: number; to: number } | null;
  more: boolean;
}

/** Displayable output between two offsets. */
export async function readOutput(
  task: string,
  stream: Stream,
  from: number,
  end = Number.POSITIVE_INFINITY,
): Promise<Piece> {
  const read = await call("tool.output_fetch", {
    task_id: task,
    stream,
    offset_bytes: from,
    max_bytes: Math.min(MOST_BYTES, end - from),
    budget_profile: "audit",
  });
  return {
    text: read.parts.map((part) => part.text).join(""),
    from: read.offset_bytes,
    to: read.next_cursor,
    gap: read.gap,
    more: read.has_more,
  };
}

/** Deliver every frame after one as it arrives, until the last one or until stopped. Rows of the log
 * are frames: once what was there is read, nothing is asked for that a row has already brought. */
export function followFrames(
  task: string,
  after: number,
  on: { take: (frames: Frame[]) => Promise<void> | void; over?: () => void; error: Failed },
): () => void {
  let at = after;
  /** The log's row of the newest frame that is known; 0 until the frames were read up to now. */
  let known = 0;
  let busy = false;
  let again = true;
  let stopped = false;
  const take = async (frames: Frame[]) => {
    if (frames.length > 0) await on.take(frames);
    at = frames.at(-1)?.seq ?? at;
    known = rowOf(frames.at(-1)) || known;
  };
  const go = async (fresh: readonly LogRow[] = []) => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      if (fresh.length > 0 && known > 0 && !again) {
        const frames = framesOf(fresh, at);
        await take(frames);
        if (frames.some(isLast)) return stop();
      } else again = true;
      while (again && !stopped) {
        again = false;
        const page = await readFrames(task, at);
        if (stopped) return;
        await take(page.frames);
        again ||= page.more;
        on.error(undefined);
        if (page.over) return stop();
      }
    } catch (error) {
      on.error(asCallError(error));
    } finally {
      busy = false;
    }
  };
  const unwatch = log.watch((fresh) => {
    const mine = fresh.filter((row) => row.subject === task && row.stream === "processes");
    if (fresh.length > 0 && mine.length === 0) return;
    const news = mine.filter((row) => row.seq > known);
    if (mine.length > 0 && known > 0 && news.length === 0) return;
    void go(news.some((row) => row.clipped) ? [] : news);
  });
  const stop = () => {
    stopped = true;
    unwatch();
    on.over?.();
  };
  void go();
  return stop;
}

/** The row of the log that a frame is. */
function rowOf(frame: Frame | undefined): number {
  return Number(frame?.id.split("@")[1] ?? 0);
}

/** Consecutive rows of a process as the frames that follow one. */
export function framesOf(rows: readonly LogRow[], after: number): Frame[] {
  return rows.map((row, index) => ({
    ...(row.data as Partial<Frame>),
    id: row.ref,
    seq: after + 1 + index,
    type: row.kind,
    timestamp_ms: row.ts_ms,
  }));
}

function isLast(frame: Frame): boolean {
  return frame.type === "tool_task_status" && ENDED.includes(String(frame.status));
}

type Failed = (error: CallError | undefined) => void;

export function asCallError(error: unknown): CallError {
  return error instanceof CallError ? error : new CallError("", String(error), null, false);
}
