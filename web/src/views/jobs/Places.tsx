// Where the work of this workspace is done: the projects that are bound to it. Only operators are told.
import { useMay } from "../../api/roles";
import { session } from "../../api/session";
import { Badge } from "../../kit/parts";
import { useStore } from "../../kit/store";
import { ofStreams, useRead } from "../../live/reads";
import styles from "./jobs.module.css";

export function Places() {
  const { workspace } = useStore(session);
  const told = useMay()("workspace.bind");
  const { data } = useRead(
    "workspace.list",
    { name: workspace ?? "" },
    { touches: ofStreams("system"), every: 30_000 }, // a bind is logged in the person's workspace
  );
  const row = data?.workspaces.find((one) => one.workspace === workspace);
  if (!told || !row) return null;
  const bound = row.projects ?? [];
  return (
    <span className={styles.places}>
      {bound.length === 0 && <Badge tone="warn">no project</Badge>}
      <span className="soft small">
        {bound.length === 0 ? (
          <>
            Its work waits until you say where it is done:{" "}
            <code>longhouse workspace bind {workspace}</code>
          </>
        ) : (
          <>
            Work is done in{" "}
            {bound.map((one, at) => (
              <span key={one.project} title={`Project ${one.project}, bound by ${one.bound_by}`}>
                {at > 0 && ", "}
                <code>{one.root}</code>
              </span>
            ))}
          </>
        )}
      </span>
    </span>
  );
}
