// One plan: its description, checklist and tasks.
import { Text, Waiting } from "../../kit/parts";
import { Pane, PaneHead } from "../../kit/Split";
import { ofStreams, useRead } from "../../live/reads";
import { href } from "../../shell/router";
import { TaskRows } from "./Work";
import styles from "./work.module.css";

export function PlanPane({ id }: { id: string }) {
  const opened = useRead("open", { id }, { touches: (row) => row.subject === id });
  const tasks = useRead(
    "tasks.context",
    { plans_limit: 0, tasks_limit: 200, tasks_parent: id, include_all: true },
    { touches: ofStreams("work") },
  );
  const plan = opened.data?.kind === "plan" && "target" in opened.data ? opened.data.target : null;
  return (
    <Pane label={`Plan ${id}`} back="All work" to={href("/work")}>
      {!plan && <Waiting error={opened.error} />}
      {plan && (
        <PaneHead>
          <code className="ref soft">{id}</code>
          <h2>{plan.title}</h2>
          {plan.description && <Text>{plan.description}</Text>}
          {plan.kind === "plan" && plan.checklist && plan.checklist.length > 0 && (
            <ol className={styles.checklist}>
              {plan.checklist.map((line, index) => (
                <li key={line} data-done={index < (plan.current ?? 0) || undefined}>
                  {line}
                </li>
              ))}
            </ol>
          )}
        </PaneHead>
      )}
      {tasks.data && (
        <TaskRows tasks={tasks.data.tasks} chosen={undefined} label="All tasks in the plan" />
      )}
    </Pane>
  );
}
