// Recognizes refs by their shape, alone and in a text, as the server does.
import { REF_KINDS } from "../api/types";

export type RefKind = (typeof REF_KINDS)[number]["kind"];

const WHOLE = REF_KINDS.map((one) => ({ ...one, pattern: new RegExp(`^(?:${one.pattern})$`) }));
const NUMBERED = REF_KINDS.flatMap((one) => /^([A-Z]+)-\d{3}$/.exec(one.example)?.[1] ?? []);
const TYPED = new RegExp(`^(${NUMBERED.join("|")})-?(\\d{1,15})(@\\d{1,16})?$`, "i");
const SAID = REF_KINDS.flatMap((one) => one.mention ?? []).join("|");

/** Finds refs in a text; the one group is the ref, so that `split` keeps it. */
export const MENTION = new RegExp(`(?<![\\w@:/.<-])(${SAID})(?![\\w>@]|\\.\\w)`);

/** The kind of a ref; null if it is none. */
export function kindOf(ref: string): RefKind | null {
  const found = WHOLE.filter((one) => one.pattern.test(ref));
  return (found.find((one) => !one.general) ?? found[0])?.kind ?? null;
}

/** The refs in a text, in order. */
export function refsIn(text: string): string[] {
  return text.match(new RegExp(MENTION, "g")) ?? [];
}

/** The canonical form of a typed ref: `job-1@6` is `JOB-001@6`. */
export function refOf(text: string): string {
  if (/^card-[\w.-]+$/i.test(text)) return text.toUpperCase();
  const [, kind = "", number = "", at = ""] = TYPED.exec(text) ?? [];
  return kind ? `${kind.toUpperCase()}-${number.padStart(3, "0")}${at}` : text;
}
