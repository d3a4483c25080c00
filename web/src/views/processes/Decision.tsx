// Why a process failed: its error, or the policy rule that refused it.
import type { TaskView } from "../../api/types";
import { useRead } from "../../live/reads";
import type { Frame } from "./frames";
import styles from "./processes.module.css";
import { commandOf } from "./words";

export function Decision({ task }: { task: TaskView }) {
  const denied = task.cause === "policy_denied";
  const { data } = useRead(
    "tool.task_stream_events",
    denied ? { task_id: task.task_id, limit: 8 } : null,
  );
  const frames = (data?.frames ?? []) as unknown as Frame[];
  // The server and the runner each decide: what one allowed does not explain what the other refused.
  const decided = frames.find(
    (frame) => frame.type === "tool_policy_decided" && frame.decision === "deny",
  );
  return (
    <div className={styles.why} role="note" aria-label="Why it failed">
      <p>
        <strong>{denied ? "Policy refused to start it." : "Why it failed"}</strong>
      </p>
      <p>{decided ? String(decided.why) : task.error}</p>
      {decided && (
        <p className="small">
          Rule <code>{String(decided.rule)}</code>, profile <code>{String(decided.profile)}</code>.
          An operator can allow it with{" "}
          <code>
            longhouse policy allow {task.tool} '{commandOf(task)}'
          </code>
        </p>
      )}
    </div>
  );
}
