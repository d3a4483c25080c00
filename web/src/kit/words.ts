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

/** What an event says was changed in a plan or task: "priority high, was medium". */
export function changeWords(payload: { [name: string]: unknown } | undefined): string {
  const said = payload ?? {};
  const before = (said["before"] ?? {}) as { [name: string]: unknown };
  if (typeof said["status"] === "string" && "previous" in said) {
    return `status ${plain(said["status"])}, was ${plain(said["previous"])}`;
  }
  const fields = (said["fields"] ?? []) as string[];
  return fields
    .map((field) => {
      const name = field.replace(/^new_/, "");
      const words = name.replaceAll("_", " ");
      if (!(name in said)) return words;
      if (name === "assignee") return assigned(said[name], before[name]);
      const now = `${words} ${plain(said[name])}`;
      return name in before ? `${now}, was ${plain(before[name])}` : now;
    })
    .join("; ");
}

function assigned(now: unknown, before: unknown): string {
  const was = before ? `, was ${String(before)}` : "";
  return now ? `assigned to ${String(now)}${was}` : `unassigned${was}`;
}

/** A value of a field as people say it. */
function plain(value: unknown): string {
  if (value === null || value === undefined || value === "") return "none";
  const text = Array.isArray(value) ? value.join(", ") : String(value);
  return /^[A-Z_]+$/.test(text) ? text.replaceAll("_", " ").toLowerCase() : text;
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
