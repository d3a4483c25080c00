// What this person has just done and the reads do not show yet. An act shows at once, carries an
// idempotency key through every repetition, and is forgotten as soon as a read includes its seq;
// one that was refused stays, with its reason, until it is done again or put away.
import { type Args, CallError, type Cmd, call, newKey, type Result } from "../api/calls";
import { makeStore, useStore } from "../kit/store";
import { log } from "./log";

export interface Act {
  id: string;
  cmd: Cmd;
  /** What it is about: a job, a message, a task. */
  subject: string;
  /** What to say while it shows: `Answer sent`. */
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

/** Carry out a command; what it answers, or the refusal, which is also shown with its subject. */
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

/** The seq that a write was given: of its event, of its messages, else what is known now. */
function seqOf(result: unknown): number {
  const { event, messages, message } = result as {
    event?: { seq?: number } | null;
    messages?: { seq: number }[];
    message?: { seq: number };
  };
  return event?.seq ?? messages?.at(-1)?.seq ?? (message ? log.head + 1 : log.head);
}

/** The acts that a read does not include yet, by what they are about. */
export function usePending(at: number): Map<string, Act> {
  const { all } = useStore(acts);
  return new Map(
    all.filter((act) => act.state === "refused" || act.seq > at).map((act) => [act.subject, act]),
  );
}
