// A task's steps as a tree, each with its proofs.
import { useMay } from "../../api/roles";
import type { EntityOpened, ShownReceipt, StepRow } from "../../api/types";
import { Badge } from "../../kit/parts";
import { act } from "../../live/acts";
import { Proof } from "./Proof";
import styles from "./work.module.css";

export function Steps({ opened }: { opened: EntityOpened }) {
  const steps = opened.steps ?? [];
  if (steps.length === 0) {
    return (
      <p className="soft">
        No steps yet. Add one: <code>longhouse task step {opened.id} 'Write a test'</code>
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

function Step({ task, step, proofs }: { task: string; step: StepRow; proofs: ShownReceipt[] }) {
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
