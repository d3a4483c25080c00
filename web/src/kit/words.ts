// What the log calls an act, as people say it.

const SAID: Record<string, string> = {
  evidence_captured: "Proof recorded",
  job_manager: "Job answered",
  job_progress: "Job went on",
  step_verified: "Step checked",
  task_patched: "Task changed",
};

export function actWords(kind: string): string {
  const said = SAID[kind] ?? kind.replaceAll("_", " ").toLowerCase();
  return said.charAt(0).toUpperCase() + said.slice(1);
}

/** A step by its place: `s:0.s:1` is step 1.2. */
export function stepWords(path: string): string {
  const places = path.split(".").map((part) => Number(part.replace("s:", "")) + 1);
  return places.some(Number.isNaN) ? path : `step ${places.join(".")}`;
}
