// The steps of a task as a tree; what is proved opens to the proof itself.
import { lazy, Suspense } from "react";
import { useMay } from "../../api/roles";
import type { EntityOpened, Shown, StepRow } from "../../api/types";
import { Badge } from "../../kit/parts";
import { act } from "../../live/acts";
import styles from "./work.module.css";

const Artifact = lazy(() => import("../jobs/Artifact"));

export function Steps({ opened }: { opened: EntityOpened }) {
  const steps = opened.steps ?? [];
  if (steps.length === 0) {
    return (
      <p className="soft">
        No steps yet: <code>longhouse task steps {opened.id}</code>
      </p>
    );
  }
  return (
    <ol className={`card ${styles.steps}`} aria-label="Steps">
      {steps.map((step) => (
        <Step
          key={step.step_id}
          task={opened.id}
          step={step}
          proofs={(opened.proofs ?? []).filter((proof) => proof.path === step.path)}
        />
      ))}
    </ol>
  );
}

function Step({ task, step, proofs }: { task: string; step: StepRow; proofs: Shown[] }) {
  const may = useMay();
  const depth = step.path.split(".").length - 1;
  const missing = [
    ...(step.missing ?? []),
    ...(step.proof_missing ?? []).map((one) => `proof of ${one}`),
  ];
  return (
    <li className={styles.step} data-stop data-done={step.completed || undefined}>
      <span className={styles.stepTitle} style={{ paddingLeft: depth * 20 }}>
        <span aria-hidden="true" className={styles.tick}>
          {step.completed ? "✓" : step.blocked ? "!" : ""}
        </span>
        <span>
          {step.title}
          <span className="hidden-label">{step.completed ? " (done)" : " (open)"}</span>
        </span>
      </span>
      <span className="row">
        {step.blocked && <Badge tone="warn">Blocked</Badge>}
        {!step.completed && missing.length > 0 && (
          <span className="soft small">missing: {missing.join(", ")}</span>
        )}
        {!step.completed && may("tasks.step.close") && (
          <button
            type="button"
            className="button"
            onClick={() =>
              act("tasks.step.close", task, "Step done", {
                task,
                step_id: step.step_id,
                checkpoints: "gate",
              }).catch(() => {})
            }
          >
            Done
          </button>
        )}
        {step.completed && proofs.length === 0 && <Badge tone="warn">No proof</Badge>}
      </span>
      {proofs.map((proof) => (
        <Proof key={`${proof.ref} ${proof.receipt.text}`} proof={proof} />
      ))}
    </li>
  );
}

function Proof({ proof }: { proof: Shown }) {
  const { receipt } = proof;
  const failed = typeof receipt.exit_code === "number" && receipt.exit_code !== 0;
  return (
    <details className={`small ${styles.proof}`}>
      <summary>
        <Badge tone={failed ? "bad" : receipt.proves ? "ok" : "plain"}>
          {proof.checkpoint ?? "proof"}
        </Badge>{" "}
        <code>{receipt.text}</code>
      </summary>
      <dl className={styles.receipt}>
        <dt>Kind</dt>
        <dd>{KINDS[receipt.kind]}</dd>
        {receipt.exit_code != null && (
          <>
            <dt>Exit code</dt>
            <dd>{receipt.exit_code}</dd>
          </>
        )}
        <dt>Recorded</dt>
        <dd>
          <code>{proof.ref}</code>
        </dd>
        <dt>Counts</dt>
        <dd>{receipt.proves ? "as proof" : "as a note only"}</dd>
      </dl>
      {receipt.artifact && (
        <Suspense fallback={<p className="soft">Reading…</p>}>
          <Artifact id={receipt.artifact} />
        </Suspense>
      )}
    </details>
  );
}

const KINDS: Record<Shown["receipt"]["kind"], string> = {
  cmd: "a command that ran",
  hash: "a digest",
  job: "a job",
  link: "a link",
  note: "a note",
  ref: "something recorded here",
  tool: "a background process",
};
