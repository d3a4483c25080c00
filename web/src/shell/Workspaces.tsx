import { session } from "../api/session";
import { useStore } from "../kit/store";
import { ofStreams, useRead } from "../live/reads";
import { chooseWorkspace } from "./begin";
import styles from "./workspaces.module.css";

export function Workspaces() {
  const { workspace } = useStore(session);
  const { data } = useRead("workspace.list", {}, { touches: ofStreams() });
  const names = [
    ...new Set([workspace ?? "", ...(data?.workspaces ?? []).map((one) => one.workspace)]),
  ];
  return (
    <label className={styles.pick}>
      <span className="hidden-label">Workspace</span>
      <select
        value={workspace ?? ""}
        onChange={(event) => chooseWorkspace(event.target.value)}
        disabled={names.length < 2}
      >
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}
