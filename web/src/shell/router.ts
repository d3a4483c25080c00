// The page's address: the path selects the view, the query holds the rest (`ws`, `as_of`, …).
import { useSyncExternalStore } from "react";
import { kindOf } from "../kit/refs";

const MOVED = "longhouse:moved";
/** The parameters that every link carries over. */
const CARRIED = ["ws", "as_of"];

function watch(listener: () => void) {
  addEventListener("popstate", listener);
  addEventListener(MOVED, listener);
  return () => {
    removeEventListener("popstate", listener);
    removeEventListener(MOVED, listener);
  };
}

const here = () => location.pathname + location.search;

export interface Route {
  path: string;
  /** The parts of the path: the view, then the item open in it. */
  parts: string[];
  query: URLSearchParams;
}

export function useRoute(): Route {
  useSyncExternalStore(watch, here);
  return route();
}

export function route(): Route {
  const parts = location.pathname.split("/").filter(Boolean).map(decodeURIComponent);
  return { path: location.pathname, parts, query: new URLSearchParams(location.search) };
}

/** An address within the page; a value of `null` removes the parameter. */
export function href(path: string, params: Record<string, string | null> = {}): string {
  const query = new URLSearchParams();
  const now = new URLSearchParams(location.search);
  for (const name of CARRIED) {
    const value = now.get(name);
    if (value) query.set(name, value);
  }
  for (const [name, value] of Object.entries(params)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

export function go(to: string, how: "push" | "replace" = "push"): void {
  if (to === here()) return;
  if (how === "push") history.pushState(null, "", to);
  else history.replaceState(null, "", to);
  dispatchEvent(new Event(MOVED));
}

/** Change query parameters without leaving the view. */
export function setParams(params: Record<string, string | null>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(params)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  go(location.pathname + (text ? `?${text}` : ""), "replace");
}

/** The address of the item that a ref names; null if no view shows it. */
export function placeOf(ref: string): string | null {
  const [id = "", at = null] = ref.split("@");
  switch (kindOf(ref)) {
    case "job":
    case "job_event":
      return href(`/jobs/${id}`, { at });
    case "process":
      return href(`/processes/${id}`, { at });
    case "task":
    case "plan":
    case "task_event":
      return href(`/work/${id}`, { at });
    case "card":
      return href(`/memory/${encodeURIComponent(ref)}`);
    case "entry": // or a row about something else, such as a runner
      return /^[A-Za-z][\w./-]*$/.test(id)
        ? href(`/memory/${encodeURIComponent(ref)}`)
        : href(`/history/${at}`);
    case "message":
    case "reservation":
      return href(`/history/${id.replace(/^\D+/, "")}`);
    default:
      return at && href(`/history/${at}`);
  }
}

/** The raw `as_of` of the address; null is now. */
const asOf = () => new URLSearchParams(location.search).get("as_of") || null;

/** The seq that the view is shown as of; null is now, NaN an invalid `as_of`. */
export function pastSeq(): number | null {
  const text = asOf();
  return text === null ? null : /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
}

export function usePast(): number | null {
  return useSyncExternalStore(watch, pastSeq);
}
