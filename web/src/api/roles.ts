// What the signed-in token may do: buttons for commands it may not call are hidden.
import { useStore } from "../kit/store";
import { usePast } from "../shell/router";
import { session } from "./session";
import { type Commands, ROLES } from "./types";

export type RoleName = "viewer" | "agent" | "manager" | "operator";

const RANK: Record<RoleName, number> = { viewer: 0, agent: 1, manager: 2, operator: 3 };

export function may(role: RoleName | undefined, cmd: keyof Commands): boolean {
  return role !== undefined && RANK[role] >= RANK[ROLES[cmd]];
}

/** Whether this person may call a command now; the past is read-only. */
export function useMay(): (cmd: keyof Commands) => boolean {
  const { me } = useStore(session);
  const gone = usePast() !== null;
  return (cmd) => !gone && may(me?.role, cmd);
}
