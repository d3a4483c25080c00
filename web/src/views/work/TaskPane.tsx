// One task: its steps with their proof and what is missing, its jobs, and its history.
import { useMay } from "../../api/roles";
import type { EntityOpened, Task } from "../../api/types";
import { Pick } from "../../kit/Pick";
import { Age, Badge, Link, Ref, Refused, Text, Waiting } from "../../kit/parts";
import { Pane, PaneHead } from "../../kit/Split";
import { actWords, changeWords, stepWords, withoutMarks } from "../../kit/words";
import { act, putAway, usePending } from "../../live/acts";
import { ofStreams, useRead } from "../../live/reads";
import { href, useRoute } from "../../shell/router";
import { Steps } from "./Steps";
import { Progress, STATES } from "./Work";
import styles from "./work.module.css";

export function TaskPane({ id }: { id: string }) {
  const { query } = useRoute();
  const read = useRead(
    "open",
    { id, limit: 50, include_drafts: true },
    { touches: (row) => row.stream === "work" && row.subject === id },
  );
  const done = usePending(read.at).get(id);
  const opened = read.data?.kind === "task" && "target" in read.data ? read.data : null;
  return (
    <Pane label={`Task ${id}`} back="All work" to={href("/work", { show: query.get("show") })}>
      {!opened && <Waiting error={read.error} />}
      {opened && (
        <>
          <Head opened={opened} />
          {done?.state === "refused" && done.error && (
            <Refused error={done.error} onClose={() => putAway(done.id)} />
          )}
          <Steps opened={opened} />
          <Jobs id={id} />
          <Happened opened={opened} />
        </>
      )}
    </Pane>
  );
}

function Head({ opened }: { opened: EntityOpened }) {
  const may = useMay();
  const task = opened.target as Task;
  const agents = useRead(
    "agents.list",
    { order: "seen", limit: 60 },
    { touches: ofStreams("crew"), every: 15_000 },
  ).data?.agents;
  const names = [...new Set([task.assignee, ...(agents ?? []).map((one) => one.agent_id)])].filter(
    (name): name is string => Boolean(name),
  );
  return (
    <PaneHead>
      <div className="row">
        <Badge tone={STATES[task.status][1]}>{STATES[task.status][0]}</Badge>
        <code className="ref soft">{task.id}</code>
        <span className="soft small">
          in <Ref id={task.plan_id} />
        </span>
        <Progress task={task} />
      </div>
      <h2>{task.title}</h2>
      {task.description && <Text>{task.description}</Text>}
      <div className="row small">
        {may("tasks.complete") && (
          <Pick
            label="Status"
            className={styles.choice}
            value={task.status}
            all={Object.entries(STATES).map(([value, [words]]) => [value, words] as const)}
            onPick={(status) => void move(task, status as Task["status"]).catch(() => {})}
          />
        )}
        {may("tasks.edit") ? (
          <Pick
            label="Assignee"
            className={styles.choice}
            value={task.assignee ?? ""}
            all={[["", "unassigned"], ...names.map((name) => [name, name] as const)]}
            onPick={(assignee) => void assign(task, assignee).catch(() => {})}
          />
        ) : (
          <span className="soft">{task.assignee ?? "unassigned"}</span>
        )}
        <Link href={href(`/sessions/${task.id}`)}>Conversation</Link>
      </div>
    </PaneHead>
  );
}

/** Set a task's status; taking it back sets the one that it had. */
function move(task: Task, status: Task["status"], back = true): Promise<unknown> {
  const said = `${task.id} is now ${STATES[status][0].toLowerCase()}`;
  const undo = () => move({ ...task, status }, task.status, false);
  const args = { task: task.id, status };
  return act("tasks.complete", task.id, said, args, back ? undo : undefined);
}

/** Assign a task, or with an empty name to nobody; taking it back assigns it as before. */
function assign(task: Task, assignee: string, back = true): Promise<unknown> {
  const said = assignee ? `${task.id} is now assigned to ${assignee}` : `${task.id} is unassigned`;
  const undo = () => assign({ ...task, assignee }, task.assignee ?? "", false);
  return act("tasks.edit", task.id, said, { task: task.id, assignee }, back ? undo : undefined);
}

function Jobs({ id }: { id: string }) {
  const { data } = useRead("jobs.list", { task: id, limit: 20 }, { touches: ofStreams("jobs") });
  if (!data || data.jobs.length === 0) return null;
  return (
    <section aria-label="Jobs">
      <h3>Jobs</h3>
      <ul>
        {data.jobs.map((job) => (
          <li key={job.id} className="row small">
            <Ref id={job.id} />
            <span className="one-line">{job.title}</span>
            <span className="soft">{job.status.toLowerCase()}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Happened({ opened }: { opened: EntityOpened }) {
  const events = opened.events ?? [];
  if (events.length === 0) return null;
  return (
    <section aria-label="History">
      <h3>History</h3>
      <ol className={styles.events}>
        {events.map((event) => (
          <li key={event.seq} className="small">
            <span>
              {actWords(event.type)}
              {changeWords(event.payload) && `: ${changeWords(event.payload)}`}
            </span>
            {typeof event.payload?.note === "string" && (
              <span className={`one-line ${styles.note}`}>{withoutMarks(event.payload.note)}</span>
            )}
            <span className="soft">
              {[event.path && stepWords(event.path), event.actor]
                .filter(Boolean)
                .map((part) => `${part} · `)}
              <Age at={event.ts_ms} />
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
