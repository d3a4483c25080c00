// A terminal as it is now: its screen once, then every byte behind it. What the log brings is shown
// at once; what it only refers to, or what was missed, is read by its offset.
import type { CallError } from "../../api/calls";
import type { TaskView } from "../../api/types";
import { type LogRow, log } from "../../live/log";
import type { Emulator, Size } from "./emulator";
import { asCallError, readOutput, STREAM_OF } from "./frames";
import { firstSize } from "./recording";

/** A view that is this far behind takes the screen anew instead of all that led to it. */
const FAR_BYTES = 500_000;

export function showLive(
  task: TaskView,
  emulator: Emulator,
  on: { size: (size: Size) => void; shown: () => void; error: (error: CallError) => void },
): () => void {
  let next = 0;
  let stopped = false;
  let work: Promise<void> = Promise.resolve();
  let { resets } = log;

  const then = (step: () => Promise<void>) => {
    work = work
      .then(() => (stopped ? undefined : step()))
      .then(on.shown)
      .catch((error) => {
        if (!stopped) on.error(asCallError(error));
      });
  };
  const begin = async () => {
    emulator.reset(firstSize(task));
    next = 0;
    await readOn(Number.POSITIVE_INFINITY);
  };
  const readOn = async (end: number) => {
    if (Number.isFinite(end) && end - next > FAR_BYTES) return begin();
    while (next < end && !stopped) {
      const piece = await readOutput(task.task_id, "pty", next);
      await emulator.write(piece.text);
      if (piece.to <= next) return;
      next = piece.to;
      if (!piece.more && !Number.isFinite(end)) return;
    }
  };
  const take = async (row: LogRow) => {
    const { offset_bytes, bytes, chunk, rows, cols } = row.data as Partial<Said>;
    if (row.kind === "tool_task_resized" && rows && cols) {
      emulator.resize({ rows, cols });
      on.size({ rows, cols });
    } else if (STREAM_OF[row.kind] && offset_bytes !== undefined && bytes !== undefined) {
      if (typeof chunk === "string" && offset_bytes === next) {
        next += bytes;
        await emulator.write(chunk);
      } else if (offset_bytes + bytes > next) {
        await readOn(offset_bytes + bytes);
      }
    }
  };
  const unwatch = log.watch((fresh) => {
    if (resets !== log.resets) {
      resets = log.resets;
      then(begin);
    }
    for (const row of fresh) if (row.subject === task.task_id) then(() => take(row));
  });
  then(begin);
  return () => {
    stopped = true;
    unwatch();
  };
}

interface Said extends Size {
  offset_bytes: number;
  bytes: number;
  chunk: string | null;
}
