// A terminal recording: the frames of its process as moments that can be replayed.
import type { TaskView } from "../../api/types";
import type { Size } from "./emulator";
import { readFrames, readOutput, STREAM_OF } from "./frames";

export interface Moment {
  /** Milliseconds from the start, with long pauses shortened. */
  at: number;
  text: string;
  size?: Size;
}

export interface Recording {
  first: Size;
  moments: Moment[];
  length: number;
  /** Whether the end was left out because the recording is too long. */
  cut: boolean;
}

const LONGEST_PAUSE_MS = 2_000;
const MOST_CHARS = 24_000_000;

export function firstSize(task: TaskView): Size {
  const { rows, cols } = task.args as Partial<Size>;
  return { rows: rows ?? 24, cols: cols ?? 80 };
}

/** The whole recording, or the part up to a seq of the log. */
export async function readRecording(task: TaskView, past: number | null): Promise<Recording> {
  const recording: Recording = { first: firstSize(task), moments: [], length: 0, cut: false };
  let before: number | null = null;
  let chars = 0;
  for (let after = -1, more = true; more; ) {
    const page = await readFrames(task.task_id, after);
    more = page.more;
    for (const frame of page.frames) {
      after = frame.seq;
      if (past !== null && Number(frame.id.split("@")[1]) > past) return recording;
      const { rows, cols, timestamp_ms: now } = frame;
      const at = recording.length + Math.min(now - (before ?? now), LONGEST_PAUSE_MS);
      if (frame.type === "tool_task_resized" && rows && cols) {
        recording.moments.push({ at, text: "", size: { rows, cols } });
      } else if (STREAM_OF[frame.type] === "pty") {
        const text = frame.chunk ?? (await readAll(task.task_id, frame));
        recording.moments.push({ at, text });
        chars += text.length;
      } else {
        continue;
      }
      recording.length = at;
      before = now;
      if (chars > MOST_CHARS) return { ...recording, cut: true };
    }
  }
  return recording;
}

async function readAll(
  task: string,
  frame: { offset_bytes?: number; bytes?: number },
): Promise<string> {
  let at = frame.offset_bytes ?? 0;
  const end = at + (frame.bytes ?? 0);
  let text = "";
  while (at < end) {
    const piece = await readOutput(task, "pty", at, end);
    text += piece.text;
    if (piece.to <= at) break;
    at = piece.to;
  }
  return text;
}
