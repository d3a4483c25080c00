// The status view: what `status` says, and the live log over one stream.
// Everything shown was written by others: it is set as text, never as markup.
"use strict";

const SHOWN = 200;
const GIVEN_UP = 8000;
const $ = (id) => document.getElementById(id);
let token = null;
let workspace = null;
let following = null;

function takeToken() {
  const match = /(?:^|[#&])token=([^&]+)/.exec(location.hash);
  if (match) {
    sessionStorage.setItem("token", decodeURIComponent(match[1]));
    history.replaceState(null, "", location.pathname + location.search);
  }
  return sessionStorage.getItem("token");
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined && text !== null) made.textContent = String(text);
  return made;
}

function link(state, text) {
  $("link").dataset.state = state;
  $("link").textContent = text;
}

function address(path) {
  return workspace ? `${path}?workspace=${encodeURIComponent(workspace)}` : path;
}

async function call(cmd, args) {
  const answer = await fetch(address(`/call/${cmd}`), {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(args || {}),
  });
  const envelope = await answer.json();
  if (!envelope.success) {
    const error = new Error(envelope.error.message);
    error.status = answer.status;
    throw error;
  }
  return envelope;
}

function askForToken(why) {
  if (following) following.abort();
  sessionStorage.removeItem("token");
  token = null;
  for (const id of ["status", "log"]) $(id).hidden = true;
  document.querySelector(".pick").hidden = true;
  $("signin").hidden = false;
  $("why").textContent = why || "";
  link("off", "Not connected");
}

function showStatus(envelope) {
  const status = envelope.result;
  $("headline").textContent = status.headline;
  const facts = [
    ["Workspace", status.workspace],
    ["Branch", status.checkout || "none yet"],
    ["In focus", status.focus || "nothing"],
    ["Log at", status.seq],
    ["Store", `${status.server.engine}, schema ${status.schema_version}`],
    ["Version", status.server.version],
  ];
  $("facts").replaceChildren(
    ...facts.flatMap(([name, value]) => [element("dt", "", name), element("dd", "", value)]),
  );
  $("actions").replaceChildren(...envelope.actions.map((action) => {
    const item = element("li", "", `${action.why}: `);
    const cmd = action.args.cmd || [action.tool, action.args.op].filter(Boolean).join(" ");
    item.append(element("code", "", cmd));
    return item;
  }));
  $("next").hidden = envelope.actions.length === 0;
  $("status").hidden = $("log").hidden = false;
  return status;
}

function showRow(row) {
  const data = row.data || {};
  const said = String(data.message || data.title || data.summary || data.name || "");
  const item = element("li");
  const when = element("time", "when", new Date(row.ts_ms).toLocaleTimeString());
  when.dateTime = new Date(row.ts_ms).toISOString();
  const what = element("span", "what");
  what.append(element("span", "kind", row.kind));
  if (said) what.append(` ${said.startsWith(`${row.kind} `) ? said.slice(row.kind.length + 1) : said}`);
  if (row.actor && !said.includes(row.actor)) what.append(element("span", "by", ` by ${row.actor}`));
  item.append(when, element("code", "ref", row.ref), what);
  $("rows").prepend(item);
  while ($("rows").children.length > SHOWN) $("rows").lastChild.remove();
  $("quiet").hidden = true;
}

// Refresh the summary soon after the log moved, once for a burst of events.
let refreshing = null;
function refreshSoon() {
  refreshing ||= setTimeout(async () => {
    refreshing = null;
    try { showStatus(await call("status")); } catch { /* the stream tells when we are offline */ }
  }, 300);
}

async function follow(after) {
  const ours = new AbortController();
  if (following) following.abort();
  following = ours;
  let last = after;
  let wait = 500;
  while (!ours.signal.aborted) {
    try {
      const answer = await fetch(address("/events"), {
        headers: { authorization: `Bearer ${token}`, "last-event-id": String(last) },
        signal: ours.signal,
      });
      if (answer.status === 401 || answer.status === 403) return askForToken("The token is no longer valid.");
      if (answer.status === 400) return start();
      if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
      link("live", "Live");
      wait = 500;
      for await (const event of events(answer.body)) {
        if (event.id) last = Number(event.id);
        if (event.data && event.name !== "hello" && event.name !== "resume") {
          showRow(JSON.parse(event.data));
          refreshSoon();
        }
      }
    } catch (error) {
      if (ours.signal.aborted) return;
    }
    // One that comes back elsewhere is not found from here: say who knows where.
    if (wait < GIVEN_UP) link("wait", "Reconnecting…");
    else link("bad", "No server here: try longhouse up");
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(wait * 2, 10000);
  }
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const event = { id: null, name: "message", data: "" };
      for (const line of part.split("\n")) {
        if (line.startsWith("id: ")) event.id = line.slice(4);
        else if (line.startsWith("event: ")) event.name = line.slice(7);
        else if (line.startsWith("data: ")) event.data += line.slice(6);
      }
      yield event;
    }
  }
}

async function start() {
  try {
    const status = showStatus(await call("status"));
    workspace = status.workspace;
    const found = (await call("workspace.list")).result.workspaces.map((row) => row.workspace);
    if (!found.includes(workspace)) found.unshift(workspace);
    $("workspaces").replaceChildren(...found.map((name) => {
      const option = element("option", "", name);
      option.selected = name === workspace;
      return option;
    }));
    document.querySelector(".pick").hidden = false;
    $("signin").hidden = true;
    $("rows").replaceChildren();
    $("quiet").hidden = false;
    follow(Math.max(0, status.seq - SHOWN));
  } catch (error) {
    if (error.status === 401) return askForToken("That token is not known here.");
    link("bad", "The server does not answer");
    setTimeout(start, 2000);
  }
}

$("workspaces").addEventListener("change", (event) => {
  workspace = event.target.value;
  start();
});
document.querySelector("#signin form").addEventListener("submit", (event) => {
  event.preventDefault();
  token = new FormData(event.target).get("token").trim();
  sessionStorage.setItem("token", token);
  event.target.reset();
  start();
});
addEventListener("hashchange", () => { token = takeToken(); if (token) start(); });

token = takeToken();
if (token) start(); else askForToken();
