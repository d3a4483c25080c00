// Sends keys to a terminal, one request at a time. Keys typed in the meantime go with the next
// request, so that each key arrives once and in order.
import { CallError, call, newKey } from "../../api/calls";
import type { Size } from "./emulator";
import { asCallError } from "./frames";

const MOST_BYTES = 8_192;
const TRIES = 4;
const PAUSE_MS = 300;
// A key goes at once; those that follow it within this time, as when one is held, go together.
const GATHER_MS = 15;

export class Typing {
  private waiting = new Uint8Array();
  private size: Size | null = null;
  private busy = false;

  constructor(
    private readonly task: string,
    private readonly failed: (error: CallError) => void,
  ) {}

  keys(more: Uint8Array): void {
    const joined = new Uint8Array(this.waiting.length + more.length);
    joined.set(this.waiting);
    joined.set(more, this.waiting.length);
    this.waiting = joined;
    void this.send();
  }

  resize(size: Size): void {
    this.size = size;
    void this.send();
  }

  private async send(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      while (this.size || this.waiting.length > 0) {
        const { size } = this;
        if (size) {
          this.size = null;
          // A failed resize does not change what the keys mean, so they are still sent.
          await persist("tool.task_resize", { task_id: this.task, ...size }).catch((error) =>
            this.failed(asCallError(error)),
          );
          continue;
        }
        const chunk = this.waiting.slice(0, MOST_BYTES);
        this.waiting = this.waiting.slice(chunk.length);
        const chunk_b64 = btoa(String.fromCharCode(...chunk));
        const gathered = new Promise((done) => setTimeout(done, GATHER_MS));
        await persist("tool.task_write_stdin", { task_id: this.task, chunk_b64 });
        await gathered;
      }
    } catch (error) {
      // Keys after a lost one could mean something else.
      this.waiting = new Uint8Array();
      this.failed(asCallError(error));
    } finally {
      this.busy = false;
    }
  }
}

async function persist(
  ...[cmd, args]:
    | ["tool.task_resize", { task_id: string; rows: number; cols: number }]
    | ["tool.task_write_stdin", { task_id: string; chunk_b64: string }]
): Promise<void> {
  const idempotency_key = newKey();
  for (let tried = 1; ; tried += 1) {
    try {
      await call(cmd, { ...args, idempotency_key } as never);
      return;
    } catch (error) {
      if (!(error instanceof CallError && error.retryable) || tried === TRIES) throw error;
      await new Promise((done) => setTimeout(done, PAUSE_MS * tried));
    }
  }
}
