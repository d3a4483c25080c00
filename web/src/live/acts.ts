// The user's writes that reads do not include yet. An act is shown immediately, uses one idempotency
// key for all its retries, and is dropped once a read includes its seq. A refused act stays, with the
// reason, until it is repeated or dismissed.
import { type Args, CallError, type Cmd, call, newKey, type Result } from "../api/calls";
import { makeStore, useStore } from "../kit/store";
import { log } from "./log";

export interface Act {
  id: string;
  cmd: Cmd;
  /** The id it is about: a job, a message, a task. */
  subject: string;
  /** The text to show for it, such as `Answer sent`. */
  said: string;
  state: "sending" | "done" | "refused";
  seq: number;
  error?: CallError;
}

const TRIES = 4;
const PAUSE_MS = 400;
const MOST_KEPT = 100;

const acts = makeStore<{ all: readonly Act[] }>({ all: [] });

function put(act: Act): void {
  const others = acts.get().all.filter((one) => one.id !== act.id && one.subject !== act.subject);
  acts.set({ all: [...others, act].slice(-MOST_KEPT) });
}

export function putAway(id: string): void {
  acts.set({ all: acts.get().all.filter((act) => act.id !== id) });
}

/** Run a command. An error is thrown and also shown with the act's subject. */
export async function act<C extends Cmd>(
  cmd: C,
  subject: string,
  said: string,
  args: Args<C>,
): Promise<Result<C>> {
  const id = newKey();
  const base = { id, cmd, subject, said };
  put({ ...base, state: "sending", seq: Number.POSITIVE_INFINITY });
  try {
    const result = await persist(cmd, { ...args, idempotency_key: id });
    put({ ...base, state: "done", seq: seqOf(result) });
    return result;
  } catch (error) {
    const shown =
      error instanceof CallError ? error : new CallError("", String(error), null, false);
    put({ ...base, state: "refused", seq: 0, error: shown });
    throw shown;
  }
}

async function persist<C extends Cmd>(cmd: C, args: Args<C>): Promise<Result<C>> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await call(cmd, args);
    } catch (error) {
      if (!(error instanceof CallError && error.retryable) || tried === TRIES) throw error;
      await new Promise((done) => setTimeout(done, PAUSE_MS * tried));
    }
  }
}

/** The seq of a write: that of its event or its last message, otherwise the end of the log. */
function seqOf(result: unknown): number {
  const { event, messages, message, seq } = result as {
    event?: { seq?: number } | null;
    messages?: { seq: number }[];
    message?: unknown;
    seq?: number;
  };
  // A message keeps the seq at which it was sent; that of its mark is the result's own.
  return event?.seq ?? messages?.at(-1)?.seq ?? (message && seq ? seq : log.head);
}

/** The acts that a read up to `at` does not include yet, by subject. */
export function usePending(at: number): Map<string, Act> {
  const { all } = useStore(acts);
  return new Map(
    all.filter((act) => act.state === "refused" || act.seq > at).map((act) => [act.subject, act]),
  );
}
