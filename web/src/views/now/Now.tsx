// The first view: what needs the user, what the agents are doing, and what happened since last time.
import { useMemo } from "react";
import { session } from "../../api/session";
import { Empty, Waiting } from "../../kit/parts";
import { useStore } from "../../kit/store";
import { Crew } from "./Crew";
import { NeedCard } from "./NeedCard";
import { useNeeds } from "./needs";
import styles from "./now.module.css";
import { Since } from "./Since";

const MOST_SHOWN = 30;

export default function Now() {
  const { workspace } = useStore(session);
  const { all, pending, ready } = useNeeds();
  const shown = useMemo(() => all.slice(0, MOST_SHOWN), [all]);
  const open = all.filter((need) => pending.get(need.subject)?.state !== "done").length;
  return (
    <>
      <header className={styles.head}>
        <h1>Now</h1>
        <p className="soft">
          {workspace}
          {ready && (open ? ` · ${open} waiting for you` : " · nothing is waiting for you")}
        </p>
      </header>
      <div className={styles.columns}>
        <section aria-labelledby="needs" className={styles.column}>
          <h2 id="needs">Needs you</h2>
          {!ready && <Waiting error={undefined} />}
          {ready && shown.length === 0 && (
            <Empty title="Nothing is waiting for you.">
              Questions, blocked work, missing proof, failures and reservation conflicts appear
              here. Those that unblock the most come first.
            </Empty>
          )}
          <ul className={styles.needs}>
            {shown.map((need) => (
              <li key={need.id} data-stop className="arrive">
                <NeedCard need={need} act={pending.get(need.subject)} />
              </li>
            ))}
          </ul>
          {all.length > shown.length && (
            <p className="soft small">{all.length - shown.length} more, less urgent.</p>
          )}
          <Since />
        </section>
        <Crew />
      </div>
    </>
  );
}
