// The first view: what needs the user, what the agents are doing, and what happened since last time.
import { useMemo, useRef, useState } from "react";
import { session } from "../../api/session";
import { Empty, Waiting } from "../../kit/parts";
import { useStore } from "../../kit/store";
import { Crew } from "./Crew";
import { useHeldOrder } from "./heldOrder";
import { NeedCard } from "./NeedCard";
import { useNeeds } from "./needs";
import styles from "./now.module.css";
import { Since } from "./Since";

const MOST_SHOWN = 30;

/** Whether the user is at work in the list: a control in it has the focus, or a draft is open. */
function isUsed(list: HTMLElement | null): boolean {
  if (!list) return false;
  const boxes = [...list.querySelectorAll("textarea")];
  return list.contains(document.activeElement) || boxes.some((box) => box.value.trim() !== "");
}

export default function Now() {
  const { workspace } = useStore(session);
  const { all, pending, ready } = useNeeds();
  const [held, hold] = useState(false);
  const list = useRef<HTMLUListElement>(null);
  const ordered = useHeldOrder(all, held);
  const shown = useMemo(() => ordered.slice(0, MOST_SHOWN), [ordered]);
  const look = () => hold(isUsed(list.current));
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
          {/* Cards keep their places while the user works in one. */}
          <ul
            ref={list}
            className={styles.needs}
            onFocus={look}
            onBlur={() => setTimeout(look)}
            onInput={look}
          >
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
