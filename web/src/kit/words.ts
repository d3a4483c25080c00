// Display text for event kinds, step paths and Markdown lines.

const SAID: Record<string, string> = {
  evidence_captured: "Proof recorded",
  job_held: "Job held",
  job_changes_wait: "Job changes waiting",
  job_manager: "Job answered",
  job_progress: "Job progressed",
  task_patched: "Task changed",
};

export function actWords(kind: string): string {
  return sentence(SAID[kind] ?? kind.replaceAll("_", " ").toLowerCase());
}

/** The text with its first letter capitalized. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The text with a period at its end, unless it has its own end. */
export function ended(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** A line of Markdown without its bold and code marks. */
export function withoutMarks(text: string): string {
  return text.replace(/\*\*|`/g, "");
}

/** A step's number from its path: `s:0.s:1` is step 1.2. */
export function stepWords(path: string): string {
  const places = path.split(".").map((part) => Number(part.replace("s:", "")) + 1);
  return places.some(Number.isNaN) ? path : `step ${places.join(".")}`;
}
