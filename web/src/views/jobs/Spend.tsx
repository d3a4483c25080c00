// What jobs have used: a bar chart by day, then tables by agent and by task. Loaded on demand.
import type { Used } from "../../api/types";
import { Ref, Waiting } from "../../kit/parts";
import { ofStreams, useRead } from "../../live/reads";
import styles from "./spend.module.css";
import { count, money } from "./words";

const DAYS = 30;
const REST_MS = 5000;
const DAY_MS = 86_400_000;
const BAR = 20;
const HEIGHT = 90;

export default function Spend() {
  const keeping = { touches: ofStreams("jobs"), rest: REST_MS };
  const days = useRead("jobs.usage", { by: "day", days: DAYS }, keeping);
  const agents = useRead("jobs.usage", { by: "agent", days: DAYS, limit: 8 }, keeping);
  const tasks = useRead("jobs.usage", { by: "task", days: DAYS, limit: 8 }, keeping);
  if (!days.data) return <Waiting error={days.error} />;
  return (
    <section aria-label="Usage of jobs" className={`card ${styles.spend}`}>
      <Chart used={days.data.used} since={days.data.since} />
      <div className={styles.tables}>
        <Table title="By agent" used={agents.data?.used ?? []} />
        <Table title="By task" used={tasks.data?.used ?? []} linked />
      </div>
    </section>
  );
}

function tokensOf(used: Used): number {
  return (used.input_tokens ?? 0) + (used.output_tokens ?? 0);
}

function costOf(used: Used): number {
  return typeof used.cost_usd === "number" ? used.cost_usd : 0;
}

function Chart({ used, since }: { used: readonly Used[]; since: string }) {
  const byDay = new Map(used.map((one) => [one.what, one]));
  const start = Date.parse(since);
  const days = Array.from({ length: DAYS }, (_, index) =>
    new Date(start + index * DAY_MS).toISOString().slice(0, 10),
  );
  const costs = used.some((one) => costOf(one) > 0);
  const size = (day: string) => {
    const one = byDay.get(day);
    return one ? (costs ? costOf(one) : tokensOf(one)) : 0;
  };
  const most = Math.max(...days.map(size), Number.MIN_VALUE);
  const total = used.reduce((sum, one) => sum + (costs ? costOf(one) : tokensOf(one)), 0);
  const say = (amount: number) => (costs ? money(amount) : `${count(amount)} tokens`);
  return (
    <figure className={styles.chart}>
      <figcaption className="line small">
        <strong>The last {DAYS} days</strong>
        <span className="soft">
          {say(total)}, at most {say(most)} in a day
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${DAYS * BAR} ${HEIGHT}`}
        role="img"
        aria-label={`${say(total)} in ${DAYS} days; today ${say(size(days.at(-1) ?? ""))}`}
        preserveAspectRatio="none"
      >
        {days.map((day, index) => {
          const height = Math.max((size(day) / most) * (HEIGHT - 4), size(day) > 0 ? 2 : 0.6);
          return (
            <rect
              key={day}
              x={index * BAR + 2}
              y={HEIGHT - height}
              width={BAR - 4}
              height={height}
              data-today={index === DAYS - 1 || undefined}
            >
              <title>{`${day}: ${say(size(day))}`}</title>
            </rect>
          );
        })}
      </svg>
    </figure>
  );
}

function Table(props: { title: string; used: readonly Used[]; linked?: boolean }) {
  if (props.used.length === 0) return null;
  return (
    <table className="small">
      <caption>{props.title}</caption>
      <thead className="soft">
        <tr>
          <th scope="col">{props.linked ? "Task" : "Agent"}</th>
          <th scope="col">Jobs</th>
          <th scope="col">Tokens</th>
          <th scope="col">Cost</th>
        </tr>
      </thead>
      <tbody>
        {props.used.map((one) => (
          <tr key={one.what}>
            <th scope="row">{props.linked ? <Ref id={one.what} /> : one.what}</th>
            <td>{one.jobs}</td>
            <td>{count(tokensOf(one))}</td>
            <td>
              {one.cost_is_partial && "at least "}
              {money(one.cost_usd)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
