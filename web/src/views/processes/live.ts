// A live terminal: a snapshot of its screen, then every byte after it. Output carried in the log is
// shown immediately; output it only refers to, or that was missed, is read by its offset.
import { CallError, call } from "../../api/calls";
import type { TaskView } from "../../api/types";
import { type LogRow, log } from "../../live/log";
import type { Emulator, Size } from "./emulator";
import { asCallError, readOutput, STREAM_OF } from "./frames";

/** A view that is this far behind takes a new snapshot instead of reading everything. */
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
    const { rows, cols, data_b64, offset } = await call("tool.task_snapshot", {
      task_id: task.task_id,
    });
    emulator.reset({ rows, cols });
    on.size({ rows, cols });
    await emulator.write(Uint8Array.from(atob(data_b64), (char) => char.charCodeAt(0)));
    next = offset;
  };
  const readOn = async (end: number) => {
    if (end - next > FAR_BYTES) return begin();
    while (next < end && !stopped) {
      const piece = await readOutput(task.task_id, "pty", next, end);
      await emulator.write(piece.text);
      if (piece.to <= next) return;
      next = piece.to;
    }
  };
  const take = async (row: LogRow) => {
    const { offset_bytes, bytes, chunk, rows, cols, error } = row.data as Partial<Said>;
    if (row.kind === "tool_task_op_failed") {
      on.error(new CallError("OP_FAILED", `The operation failed: ${error}`, null, false));
    } else if (row.kind === "tool_task_resized" && rows && cols) {
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
  error: string;
}
