// The user's writes that reads do not include yet. An act is shown immediately, uses one idempotency
// key for all its retries, and is dropped once a read includes its seq. While the server cannot be
// reached it waits, and is sent once when the server is back. A refused act stays, with the reason,
// until it is repeated or dismissed.
import { type Args, CallError, type Cmd, call, newKey, type Result } from "../api/calls";
import { forgetPerson, person } from "../api/person";
import { makeStore, useStore } from "../kit/store";
import { log } from "./log";
import { link } from "./tabs";

export interface Act {
  id: string;
  cmd: Cmd;
  /** The id it is about: a job, a message, a task. */
  subject: string;
  /** What became of it, to show: `Sending…`, then what the caller says of it, such as `Answer sent`. */
  said: string;
  state: "sending" | "waiting" | "done" | "refused";
  seq: number;
  error?: CallError;
  /** Takes it back; offered for a while after it was done. */
  undo?: () => Promise<unknown>;
}

const TRIES = 4;
const PAUSE_MS = 400;
const MOST_KEPT = 100;
/** How soon a waiting act tries again by itself. */
const AGAIN_MS = 3000;
const SENDING = "Sending…";
const WAITING = "Will be sent when the server is back";
/** How long an act can be taken back. */
export const UNDO_MS = 10_000;

const acts = makeStore<{ all: readonly Act[] }>({ all: [] });

function put(act: Act): void {
  const others = acts.get().all.filter((one) => one.id !== act.id && one.subject !== act.subject);
  acts.set({ all: [...others, act].slice(-MOST_KEPT) });
}

export function putAway(id: string): void {
  acts.set({ all: acts.get().all.filter((act) => act.id !== id) });
}

/** Run a command. An error is thrown and also shown with the act's subject. `undo` takes it back. */
export async function act<C extends Cmd>(
  cmd: C,
  subject: string,
  said: string,
  args: Args<C>,
  undo?: () => Promise<unknown>,
): Promise<Result<C>> {
  const id = newKey();
  const base = { id, cmd, subject, said };
  const begun = { ...base, said: SENDING, seq: Number.POSITIVE_INFINITY };
  put({ ...begun, state: "sending" });
  try {
    const waits = () => put({ ...begun, said: WAITING, state: "waiting" });
    const result = await persist(cmd, { ...signed(args), idempotency_key: id }, waits);
    put({ ...base, state: "done", seq: seqOf(result), ...(undo && { undo }) });
    if (undo) setTimeout(() => forgetUndo(id), UNDO_MS);
    return result;
  } catch (error) {
    const shown = error instanceof CallError ? inPlainWords(error) : asError(error);
    put({ ...base, state: "refused", seq: 0, error: shown });
    throw shown;
  }
}

function asError(error: unknown): CallError {
  return new CallError("", String(error), null, false);
}

/** A name that was taken up on another device: this page asks for it again. */
function inPlainWords(error: CallError): CallError {
  const me = person();
  if (error.code !== "AGENT_TOKEN_REQUIRED" || !me) return error;
  forgetPerson();
  return new CallError(
    error.code,
    `This page no longer speaks for ${me.name}: that name was taken up on another device.`,
    "enter your name again to go on here",
    false,
  );
}

/** The arguments in the user's own name, so that the record says who did it. */
function signed<C extends Cmd>(args: Args<C>): Args<C> {
  const me = person();
  return me && !("agent" in args) ? { agent_id: me.name, ...args } : args;
}

/** Send until there is an answer: a server that cannot be reached is waited for, however long. */
async function persist<C extends Cmd>(
  cmd: C,
  args: Args<C>,
  waits: () => void,
): Promise<Result<C>> {
  let tried = 0;
  for (;;) {
    try {
      return await call(cmd, args);
    } catch (error) {
      if (!(error instanceof CallError && error.retryable)) throw error;
      if (error.code === "UNREACHABLE") {
        waits();
        await backAgain();
        continue;
      }
      tried += 1;
      if (tried === TRIES) throw error;
      await new Promise((done) => setTimeout(done, PAUSE_MS * tried));
    }
  }
}

/** Wait until the page hears from the server again, or for a while. */
function backAgain(): Promise<void> {
  return new Promise((done) => {
    const finish = () => {
      clearTimeout(timer);
      unwatch();
      done();
    };
    const timer = setTimeout(finish, AGAIN_MS);
    const before = link.get().state;
    const unwatch = link.watch(() => {
      if (link.get().state === "live" && before !== "live") finish();
    });
  });
}

function forgetUndo(id: string): void {
  acts.set({
    all: acts
      .get()
      .all.map(({ undo, ...one }) => (one.id === id || !undo ? one : { ...one, undo })),
  });
}

/** The acts that wait for the server. */
export function useWaitingActs(): readonly Act[] {
  return useStore(acts).all.filter((one) => one.state === "waiting");
}

/** The last act, if it can be taken back, and how. */
export function useUndo(): { said: string; undo: () => void } | null {
  const last = useStore(acts).all.findLast((one) => one.undo);
  if (!last?.undo) return null;
  const { id, said, undo } = last;
  return {
    said,
    undo: () => {
      forgetUndo(id);
      void undo().catch(() => {});
    },
  };
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
