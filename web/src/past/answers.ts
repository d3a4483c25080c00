// What a command would have answered at a past seq. The state comes from the log; what never changes
// (a prompt, a title, a step's text) comes from the server's answer of today.
import { type Args, CallError, type Cmd, call, type Result } from "../api/calls";
import { crewAnswers } from "./crew";
import type { Past } from "./fold";
import { jobAnswers } from "./jobs";
import { processAnswers } from "./processes";
import { readPast } from "./reading";
import { leaving, pastRead, whichLog } from "./seq";
import { workAnswers } from "./work";

/** Turn each command's answer of today into its answer then. */
export type Answers = {
  [C in Cmd]?: (then: Then, args: Args<C>, now: Result<C>) => Result<C> | Promise<Result<C>>;
};

export interface Then {
  seq: number;
  past: Past;
}

const ANSWERS: Answers = { ...jobAnswers, ...crewAnswers, ...workAnswers, ...processAnswers };

/** The state of the moment on show, folded once and shared by all reads. */
let folded: { key: string; state: Promise<Then> } | null = null;

export async function answer<C extends Cmd>(
  cmd: C,
  args: Args<C>,
  seq: number,
): Promise<Result<C>> {
  const [now, then] = await Promise.all([
    call(cmd, { budget_profile: "audit", ...args, ...upTo(cmd, seq) }),
    stateAt(seq),
  ]);
  const make = ANSWERS[cmd] as
    | ((then: Then, args: Args<C>, now: Result<C>) => Result<C>)
    | undefined;
  return make ? make(then, args, now) : now;
}

/** Arguments that make a list read backward start at that seq. */
function upTo(cmd: Cmd, seq: number): object {
  if (cmd === "agents.conversation") return { cursor: seq + 1 };
  return cmd === "jobs.open" ? { before_seq: seq + 1 } : {};
}

function stateAt(seq: number): Promise<Then> {
  const key = `${whichLog()} ${seq}`;
  if (folded?.key === key) return folded.state;
  leaving.stop?.();
  const over = new AbortController();
  const begun = { key, state: readPast(seq, over.signal).then((past) => ({ seq, past })) };
  folded = begun;
  const forget = () => {
    if (folded === begun) folded = null;
  };
  leaving.stop = () => {
    over.abort();
    pastRead.set({ seq: 0, share: 0 });
    forget();
  };
  begun.state.catch(forget);
  return begun.state;
}

/** The error for an item that did not exist yet. */
export function notYet(id: string): CallError {
  return new CallError("NOT_YET", `${id} did not exist yet at that moment.`, null, false);
}
