// Scopes as the server parses them, so that conflicts show while the user types. The server has the
// final say: it also knows its file system and reservations made in the meantime.
import type { Reservation } from "../../api/types";

export interface Scope {
  /** Relative to the project root, without a slash at either end; empty is the project itself. */
  path: string;
  below: boolean;
}

/** The scope that a text names; null if the server would refuse it. */
export function scopeOf(text: string): Scope | null {
  const written = text.trim().normalize("NFC").replaceAll("\\", "/");
  if (!written) return null;
  const below = /(^|\/)\*\*?\/?$/.test(written);
  const bare = below ? written.replace(/(^|\/)\*\*?\/?$/, "") : written;
  if (/[*?]/.test(bare)) return null;
  const parts: string[] = [];
  for (const part of bare.split("/")) {
    if (part === "..") parts.pop();
    else if (part && part !== ".") parts.push(part);
  }
  return { path: parts.join("/"), below };
}

export function overlaps(a: Scope, b: Scope): boolean {
  return a.path === b.path || isIn(a.path, b.path) || isIn(b.path, a.path);
}

function isIn(inner: string, outer: string): boolean {
  return outer === "" || inner.startsWith(`${outer}/`);
}

export interface Met {
  held: Reservation;
  /** Refused while its holder is active; a stale holder's or expired reservation can be taken over. */
  how: "refused" | "takeover";
}

/** The reservations of others that conflict with a wanted scope. */
export function inTheWay(
  wanted: Scope,
  mode: Reservation["mode"],
  me: string | undefined,
  all: readonly Reservation[],
  now: number,
): Met[] {
  return all
    .filter((held) => held.agent_id !== me && (mode === "exclusive" || held.mode === "exclusive"))
    .filter((held) => {
      const scope = scopeOf(held.scope);
      return scope !== null && overlaps(wanted, scope);
    })
    .map((held) => ({ held, how: isFirm(held, now) ? "refused" : "takeover" }));
}

export function isFirm(held: Reservation, now: number): boolean {
  return Date.parse(held.expires_at) > now && (held.owner_liveness ?? "active") === "active";
}

export interface Folder {
  /** The displayed name; a chain of folders with nothing else in them is joined into one. */
  name: string;
  path: string;
  held: Reservation[];
  inside: Folder[];
}

/** The reservations as a tree of folders. */
export function treeOf(all: readonly Reservation[]): Folder {
  const root: Folder = { name: "The whole project", path: "", held: [], inside: [] };
  for (const held of all) {
    const scope = scopeOf(held.scope);
    let at = root;
    for (const part of scope?.path.split("/").filter(Boolean) ?? []) {
      let next = at.inside.find((folder) => folder.name === part);
      if (!next) {
        next = { name: part, path: at.path ? `${at.path}/${part}` : part, held: [], inside: [] };
        at.inside.push(next);
      }
      at = next;
    }
    at.held.push(held);
  }
  root.inside = root.inside.map(joined);
  return root;
}

function joined(folder: Folder): Folder {
  const [only, ...others] = folder.inside;
  if (only && others.length === 0 && folder.held.length === 0) {
    return joined({ ...only, name: `${folder.name}/${only.name}` });
  }
  const inside = folder.inside.map(joined).sort((a, b) => a.name.localeCompare(b.name));
  return { ...folder, inside };
}

/** For each reservation, the other agents that hold an overlapping one. */
export function overlapping(all: readonly Reservation[]): Map<string, string[]> {
  const known = all.map((held) => ({ held, scope: scopeOf(held.scope) }));
  const found = new Map<string, string[]>();
  for (const a of known) {
    const others = known.filter(
      (b) =>
        b.held.agent_id !== a.held.agent_id && a.scope && b.scope && overlaps(a.scope, b.scope),
    );
    const names = [...new Set(others.map((b) => b.held.agent_id))];
    if (names.length > 0) found.set(a.held.reservation_id, names);
  }
  return found;
}
