// Who is signed in, and to which workspace. The token comes from the printed address, stays in this
// tab's session storage and is handed to other tabs of the same origin on request. It is never
// written to disk, because another program may later listen on the same port.
import { makeStore } from "../kit/store";
import type { RoleName } from "./roles";

export interface Me {
  role: RoleName;
  name: string | null;
  workspaces: string[] | null;
  default_workspace: string | null;
  stale_minutes: number;
  version: string;
}

export interface Session {
  state: "looking" | "signed-out" | "signed-in";
  why: string;
  token: string | null;
  me: Me | null;
  workspace: string | null;
}

const KEY = "longhouse.token";
const ASK_MS = 250;

export const session = makeStore<Session>({
  state: "looking",
  why: "",
  token: null,
  me: null,
  workspace: null,
});

type Heard = { ask: true } | { token: string };

const channel = new BroadcastChannel("longhouse.sign-in");
channel.onmessage = (event: MessageEvent<Heard>) => {
  const { token, state } = session.get();
  if ("ask" in event.data) {
    if (token && state === "signed-in") channel.postMessage({ token } satisfies Heard);
  } else if (!token) {
    keep(event.data.token);
  }
};

/** Find a token in the address, in this tab or in another tab; otherwise show the sign-in form. */
export async function findToken(): Promise<void> {
  const given = takeFromAddress() ?? sessionStorage.getItem(KEY);
  if (given) return keep(given);
  channel.postMessage({ ask: true } satisfies Heard);
  await new Promise((done) => setTimeout(done, ASK_MS));
  if (!session.get().token) signOut("");
}

export function keep(token: string): void {
  sessionStorage.setItem(KEY, token);
  session.set({ token, state: "looking", why: "" });
}

export function signOut(why: string): void {
  sessionStorage.removeItem(KEY);
  session.set({ state: "signed-out", why, token: null, me: null });
}

function takeFromAddress(): string | null {
  const match = /(?:^#|&)token=([^&]+)/.exec(location.hash);
  if (!match?.[1]) return null;
  history.replaceState(null, "", location.pathname + location.search);
  return decodeURIComponent(match[1]);
}

addEventListener("hashchange", () => {
  const token = takeFromAddress();
  if (token) keep(token);
});
