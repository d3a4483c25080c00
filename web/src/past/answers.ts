// What a command would have answered at a moment in the past. The log says how things stood; what
// never changes (a prompt, a title, a step's text) is taken from what the server answers today.
import { type Args, CallError, type Cmd, call, type Result } from "../api/calls";
import { crewAnswers } from "./crew";
import type { Past } from "./fold";
import { jobAnswers } from "./jobs";
import { processAnswers } from "./processes";
import { readPast } from "./reading";
import { leaving, pastRead, whichLog } from "./seq";
import { workAnswers } from "./work";

/** From what is answered now to what was true then. */
export type Answers = {
  [C in Cmd]?: (then: Then, args: Args<C>, now: Result<C>) => Result<C> | Promise<Result<C>>;
};

export interface Then {
  seq: number;
  past: Past;
}

const ANSWERS: Answers = { ...jobAnswers, ...crewAnswers, ...workAnswers, ...processAnswers };

/** The moment that is shown: read and folded once for all who ask at the same time. */
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

/** Lists that are read from their end are read from that moment backwards. */
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

/** A thing that was not there yet. */
export function notYet(id: string): CallError {
  return new CallError("NOT_YET", `${id} did not exist yet at that moment.`, null, false);
}
