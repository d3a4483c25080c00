// What the log calls an act, as people say it.

const SAID: Record<string, string> = {
  evidence_captured: "Proof recorded",
  job_manager: "Job answered",
  job_progress: "Job went on",
  step_verified: "Step checked",
  task_patched: "Task changed",
};

export function actWords(kind: string): string {
  return sentence(SAID[kind] ?? kind.replaceAll("_", " ").toLowerCase());
}

/** As the beginning of a sentence. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** One line of Markdown as plain text. */
export function withoutMarks(text: string): string {
  return text.replace(/\*\*|`/g, "");
}

/** A step by its place: `s:0.s:1` is step 1.2. */
export function stepWords(path: string): string {
  const places = path.split(".").map((part) => Number(part.replace("s:", "")) + 1);
  return places.some(Number.isNaN) ? path : `step ${places.join(".")}`;
}
