// Type a scope to see who holds any of it; then reserve it, take it over, or ask its holder.
import { useId } from "react";
import { type Person, usePerson } from "../../api/person";
import type { Reservation } from "../../api/types";
import { useDraft } from "../../kit/draft";
import { Left, Ref, Refused } from "../../kit/parts";
import { act, putAway, usePending } from "../../live/acts";
import { ofStreams, useRead } from "../../live/reads";
import { setParams } from "../../shell/router";
import { AsPerson } from "../sessions/Reply";
import { Ask } from "./Ask";
import styles from "./files.module.css";
import type { Met, Scope } from "./scopes";

const SUBJECT = "reserve";
const ONE_HOUR = 60;

export function Reserve(props: {
  text: string;
  mode: Reservation["mode"];
  wanted: Scope | null;
  met: readonly Met[];
  mayAct: boolean;
}) {
  const { text, mode, wanted, met } = props;
  const id = useId();
  return (
    <section aria-labelledby={`${id}-title`} className={styles.section}>
      <h2 id={`${id}-title`}>Check availability</h2>
      <div className={`card ${styles.panel}`}>
        <label className="hidden-label" htmlFor={id}>
          File or folder
        </label>
        <input
          id={id}
          className="field"
          spellCheck={false}
          autoCapitalize="none"
          autoComplete="off"
          placeholder="src/parser/*"
          value={text}
          aria-describedby={`${id}-says`}
          onChange={(event) => setParams({ scope: event.target.value })}
        />
        <div id={`${id}-says`} role="status" className={styles.says}>
          <Verdict {...props} />
        </div>
        {props.mayAct && met.length > 0 && <Holders met={met} />}
        {props.mayAct && wanted && !met.some((one) => one.how === "refused") && (
          <AsPerson>
            {(me) => <Form me={me} text={text} mode={mode} takes={met.length > 0} />}
          </AsPerson>
        )}
      </div>
    </section>
  );
}

function Verdict({
  text,
  wanted,
  met,
}: {
  text: string;
  wanted: Scope | null;
  met: readonly Met[];
}) {
  const me = usePerson();
  if (!text.trim()) {
    return (
      <p className="soft small">
        A file, or a folder with <code>/*</code> for everything in it.
      </p>
    );
  }
  if (!wanted) {
    return (
      <p>
        A <code>*</code> is allowed only at the end, as in <code>src/parser/*</code>.
      </p>
    );
  }
  const firm = met.filter((one) => one.how === "refused");
  if (firm.length > 0) {
    return (
      <p className={styles.refused}>
        <strong>Not free.</strong> Held by {names(firm)}.
      </p>
    );
  }
  if (met.length > 0) {
    return (
      <p className={styles.silent}>
        <strong>Can be taken over</strong> from {names(met)}: inactive or expired.
      </p>
    );
  }
  return (
    <p className={styles.free}>
      <strong>Free.</strong> No one {me ? "else " : ""}holds any of it.
    </p>
  );
}

function holders(met: readonly Met[]): string[] {
  return [...new Set(met.map((one) => one.held.agent_id))];
}

function names(met: readonly Met[]): string {
  return holders(met).join(", ");
}

function Holders({ met }: { met: readonly Met[] }) {
  const me = usePerson();
  return (
    <ul className={styles.holders}>
      {met.map(({ held }) => (
        <li key={held.reservation_id}>
          <p className="small">
            <strong>{held.agent_id}</strong> holds <code>{held.scope}</code> for{" "}
            <Ref id={held.bead_id} />, <Left until={Date.parse(held.expires_at)} over="expired" />
          </p>
          {me && <Ask held={held} />}
        </li>
      ))}
      {!me && met.some((one) => one.how === "refused") && (
        <li>
          <AsPerson>{() => null}</AsPerson>
        </li>
      )}
    </ul>
  );
}

function Form(props: { me: Person; text: string; mode: Reservation["mode"]; takes: boolean }) {
  const { me, text, mode, takes } = props;
  const id = useId();
  const task = useDraft("files.task");
  const pending = usePending(0).get(SUBJECT);
  const work = useRead(
    "tasks.context",
    { plans_limit: 0, tasks_limit: 100, tasks_status: "ACTIVE" },
    { touches: ofStreams("work") },
  );
  const reserve = async () => {
    await act("agents.reserve", SUBJECT, `Reserved ${text.trim()}`, {
      agent: me.name,
      agent_token: me.token,
      scope: text.trim(),
      bead_id: task.text.trim(),
      mode,
      ttl_minutes: ONE_HOUR,
      takeover_stale: takes,
    });
    setParams({ scope: null });
  };
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        reserve().catch(() => {}); // the error is shown below
      }}
    >
      <label className="small soft" htmlFor={`${id}-task`}>
        Task
      </label>
      <input
        id={`${id}-task`}
        className="field"
        list={`${id}-tasks`}
        required
        placeholder="TASK-001"
        value={task.text}
        onChange={(event) => task.set(event.target.value)}
      />
      <datalist id={`${id}-tasks`}>
        {work.data?.tasks.map((one) => (
          <option key={one.id} value={one.id}>
            {one.title}
          </option>
        ))}
      </datalist>
      <label className="small row">
        <input
          type="checkbox"
          checked={mode === "shared"}
          onChange={(event) => setParams({ mode: event.target.checked ? "shared" : null })}
        />
        Others may hold it too
      </label>
      <button
        type="submit"
        className="button"
        data-kind="main"
        disabled={pending?.state === "sending" || pending?.state === "waiting"}
      >
        {takes ? "Take over for an hour" : "Reserve for an hour"}
      </button>
      {pending?.error && <Refused error={pending.error} onClose={() => putAway(pending.id)} />}
    </form>
  );
}
