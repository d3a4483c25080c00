// The radar (open jobs, most urgent first), or the jobs in one state, newest first.
import { type ReactNode, useState } from "react";
import type { Job, RadarRow } from "../../api/types";
import { Choice } from "../../kit/Choice";
import { Age, Badge, Empty, Link, Waiting } from "../../kit/parts";
import { Rows } from "../../kit/Rows";
import { withoutMarks } from "../../kit/words";
import { ofStreams, useRead } from "../../live/reads";
import { href, setParams, useRoute } from "../../shell/router";
import { useRadar } from "./radar";
import { attentionWords, STATUS, type Status, waitingWords } from "./words";

const FILTERS: [string, string][] = [
  ["", "Open"],
  ["QUEUED", "Queued"],
  ["RUNNING", "Running"],
  ["DONE", "Done"],
  ["FAILED", "Failed"],
  ["CANCELED", "Canceled"],
];
const STEP = 100;
const MOST = 500;

export function JobList({ chosen }: { chosen: string | undefined }) {
  const { query } = useRoute();
  const asked = query.get("status");
  const status = asked && asked in STATUS ? (asked as Status) : null;
  return (
    <>
      <Choice
        label="Filter jobs"
        all={FILTERS}
        chosen={status ?? ""}
        onChoose={(value) => setParams({ status: value || null })}
      />
      {status ? <Listed status={status} chosen={chosen} /> : <Radar chosen={chosen} />}
    </>
  );
}

function Radar({ chosen }: { chosen: string | undefined }) {
  const { data, error } = useRadar();
  if (!data) return <Waiting error={error} />;
  if (data.jobs.length === 0) {
    return (
      <Empty title="No open jobs.">
        Delegate one: <code>longhouse job create "Fix the flaky test" --prompt "…"</code>
      </Empty>
    );
  }
  return (
    <>
      <Rows label="Open jobs" items={data.jobs} keyOf={(job) => job.id} height={66}>
        {(job) => <RadarItem job={job} chosen={job.id === chosen} />}
      </Rows>
      {data.has_more && <p className="soft small">Showing the most urgent; there are more.</p>}
    </>
  );
}

function Listed({ status, chosen }: { status: Status; chosen: string | undefined }) {
  const [limit, setLimit] = useState(STEP);
  const { data, error } = useRead("jobs.list", { status, limit }, { touches: ofStreams("jobs") });
  if (!data) return <Waiting error={error} />;
  if (data.jobs.length === 0)
    return <Empty title={`No ${STATUS[status][0].toLowerCase()} jobs.`} />;
  return (
    <>
      <Rows label="Jobs" items={data.jobs} keyOf={(job) => job.id} height={66}>
        {(job) => <ListItem job={job} chosen={job.id === chosen} />}
      </Rows>
      {data.has_more && limit < MOST && (
        <button type="button" className="button" onClick={() => setLimit(limit + STEP)}>
          Show more
        </button>
      )}
    </>
  );
}

function RadarItem({ job, chosen }: { job: RadarRow; chosen: boolean }) {
  const words = attentionWords(job.attention, job.waiting) ?? STATUS[job.status];
  const said = job.question?.text ?? job.last?.message ?? job.last?.kind.replaceAll("_", " ");
  return (
    <Item id={job.id} title={job.title} chosen={chosen} words={words} at={job.updated_at_ms}>
      {job.runner ? `${job.runner} · ` : ""}
      {said && withoutMarks(said)}
      {job.waiting && (
        <span role="status" title={waitingWords(job.waiting)}>
          {said ? " · " : ""}
          {job.waiting.why}
        </span>
      )}
    </Item>
  );
}

function ListItem({ job, chosen }: { job: Job; chosen: boolean }) {
  return (
    <Item
      id={job.id}
      title={job.title}
      chosen={chosen}
      words={STATUS[job.status]}
      at={job.updated_at_ms}
    >
      {withoutMarks(job.summary ?? job.runner ?? job.kind)}
    </Item>
  );
}

function Item(props: {
  id: string;
  title: string;
  chosen: boolean;
  words: [string, Parameters<typeof Badge>[0]["tone"]];
  at: number;
  children: ReactNode;
}) {
  const { query } = useRoute();
  return (
    <Link
      data-stop
      className="list-item"
      href={href(`/jobs/${props.id}`, { status: query.get("status") })}
      aria-current={props.chosen ? "true" : undefined}
    >
      <span className="line">
        <strong className="one-line">{props.title}</strong>
        <Badge tone={props.words[1]}>{props.words[0]}</Badge>
      </span>
      <span className="soft small one-line">
        <code className="ref">{props.id}</code> · <Age at={props.at} /> · {props.children}
      </span>
    </Link>
  );
}
