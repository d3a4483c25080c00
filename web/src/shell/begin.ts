// From a token to a live page: find the role, the workspace and the end of the log, then follow it.
import { CallError, call, get } from "../api/calls";
import { findToken, type Me, session } from "../api/session";
import { clock } from "../live/clock";
import { WINDOW } from "../live/log";
import { forgetReads } from "../live/reads";
import { link, start } from "../live/tabs";
import { go, href, route } from "./router";

const AGAIN_MS = 1500;

let beginning = false;

export function begin(): void {
  session.watch(() => void connect());
  void findToken().then(connect);
}

/** Switch to another workspace; the address names it unless it is the server's default. */
export function chooseWorkspace(name: string): void {
  const { me } = session.get();
  go(href(route().path, { ws: name === me?.default_workspace ? null : name, as_of: null }));
  forgetReads();
  session.set({ state: "looking", workspace: name });
}

async function connect(): Promise<void> {
  const { state, token, workspace } = session.get();
  if (state !== "looking" || !token || beginning) return;
  beginning = true;
  try {
    const wanted = workspace ?? route().query.get("ws");
    if (wanted) session.set({ workspace: wanted });
    const [me, status] = await Promise.all([get<Me>("/api/me"), call("status", {})]);
    beginning = false;
    if (token !== session.get().token) return connect();
    session.set({ state: "signed-in", me, workspace: status.workspace });
    start(token, status.workspace, Math.max(0, status.seq - WINDOW));
  } catch (error) {
    beginning = false;
    if (!(error instanceof CallError) || session.get().state === "signed-out") return;
    const { since } = link.get();
    link.set({ state: "cut-off", since: since || clock.now() });
    setTimeout(connect, AGAIN_MS);
  }
}
