// Who holds which files, what a scope would conflict with, and incursions.
import { useMemo } from "react";
import { usePerson } from "../../api/person";
import { useMay } from "../../api/roles";
import { Empty, Waiting } from "../../kit/parts";
import { useNow } from "../../live/clock";
import { ofStreams, useRead } from "../../live/reads";
import { useRoute } from "../../shell/router";
import styles from "./files.module.css";
import { Incursions } from "./Incursions";
import { Outside } from "./Outside";
import { Reserve } from "./Reserve";
import { inTheWay, overlapping, scopeOf, treeOf } from "./scopes";
import { Tree } from "./Tree";

const MOST = 500;
const SIGNS_MS = 15_000;

export default function Files() {
  const may = useMay();
  const me = usePerson();
  const now = useNow();
  const { query } = useRoute();
  const crew = useRead(
    "agents.status",
    { limit: MOST },
    { touches: ofStreams("crew"), every: SIGNS_MS },
  );
  const all = useMemo(() => crew.data?.reservations ?? [], [crew.data]);
  const tree = useMemo(() => treeOf(all), [all]);
  const shared = useMemo(() => overlapping(all), [all]);
  const holders = useMemo(() => [...new Set(all.map((held) => held.agent_id))].sort(), [all]);
  const text = query.get("scope") ?? "";
  const mode = query.get("mode") === "shared" ? "shared" : "exclusive";
  const wanted = scopeOf(text);
  const met = wanted ? inTheWay(wanted, mode, me?.name, all, now) : [];
  return (
    <>
      <header className={styles.head}>
        <h1>Files</h1>
        {crew.data && (
          <p className="soft">
            {counted(crew.data.summary.active, "reservation")} by{" "}
            {counted(holders.length, "holder")}
          </p>
        )}
      </header>
      <div className={styles.columns}>
        <section aria-labelledby="held" className={styles.column}>
          <h2 id="held">Who holds what</h2>
          {!crew.data && <Waiting error={crew.error} />}
          {crew.data && all.length === 0 && (
            <Empty title="No files are reserved.">
              Agents reserve files before they change them. You can too:{" "}
              <code>
                longhouse agent reserve --agent your-name --scope 'src/parser/*' --bead TASK-001
              </code>
            </Empty>
          )}
          {all.length > 0 && (
            <Tree
              tree={tree}
              at={crew.at}
              holders={holders}
              overlaps={shared}
              met={new Set(met.map((one) => one.held.reservation_id))}
            />
          )}
          {(crew.data?.has_more || crew.data?.truncated) && (
            <p className="soft small">Showing the newest reservations; there are more.</p>
          )}
        </section>
        <div className={styles.column}>
          <Reserve
            text={text}
            mode={mode}
            wanted={wanted}
            met={met}
            mayAct={may("agents.reserve")}
          />
          <Outside all={crew.data?.outside ?? []} />
          <Incursions />
        </div>
      </div>
    </>
  );
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
