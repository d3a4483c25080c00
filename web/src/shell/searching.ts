// The server's search, for the palette and the Memory view: asked once typing pauses, and the last
// answer stays until the next one comes.
import { useEffect, useRef, useState } from "react";
import type { SearchDocuments, SearchHit, SearchResult } from "../api/types";
import { ofStreams, type Read, useRead } from "../live/reads";
import { href, placeOf } from "./router";

const PAUSE_MS = 120;
const WRITES = ofStreams("memory", "thinking", "work", "jobs", "crew", "processes", "artifacts");
/** A search needs a letter or digit. */
const WORD = /[\p{L}\p{N}]/u;

type Narrowed = Omit<SearchDocuments, "text">;

/** The answer to what was typed last; `stale` while a newer one is on its way. */
export function useSearch(
  text: string,
  narrowed: Narrowed,
): Read<SearchResult> & { stale: boolean } {
  const typed = useSettled(text.trim(), PAUSE_MS);
  const asked = WORD.test(typed) ? typed : "";
  const read = useRead("docs.search", asked ? { text: asked, ...narrowed } : null, {
    touches: WRITES,
  });
  const last = useRef<Read<SearchResult>>(read);
  if (read.data || read.error || !asked) last.current = read;
  return { ...last.current, stale: text.trim() !== typed || (Boolean(asked) && !read.data) };
}

/** A value once it has not changed for a while; the first one at once. */
function useSettled(value: string, pause: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pause);
    return () => clearTimeout(timer);
  }, [value, pause]);
  return settled;
}

/** Where the page shows a hit. */
export function placeOfHit(hit: SearchHit): string {
  if (hit.doc) {
    return href("/memory", { branch: hit.branch ?? null, doc: hit.doc, at: String(hit.seq) });
  }
  return placeOf(hit.ref) ?? href(`/history/${hit.seq}`);
}

/** What kind of thing a hit is, and where it stands. */
export function standing(hit: SearchHit): string {
  const branch = hit.branch === "main" ? null : hit.branch;
  const status = hit.status === hit.gone ? null : hit.status;
  return [hit.type ?? hit.kind, status, hit.who, hit.task ?? branch].filter(Boolean).join(" · ");
}

/** The text with words that exist in place of those found nowhere; null if there are none. */
export function corrected(text: string, result: SearchResult): string | null {
  let better = text;
  for (const [word, near] of Object.entries(result.unknown ?? {})) {
    const found = new RegExp(word.replace(/[^\p{L}\p{N}]/gu, "\\$&"), "giu");
    if (near[0]) better = better.replace(found, near[0]);
  }
  return better === text ? null : better;
}

/** What to know about the words of a search, a sentence each. */
export function remarks(result: SearchResult): string[] {
  const said: string[] = [];
  for (const [word, near] of Object.entries(result.unknown ?? {})) {
    const nearest = near.length > 0 ? `; nearest: ${near.join(", ")}` : "";
    said.push(`“${word}” is found nowhere${nearest}.`);
  }
  if (result.bounded?.length) {
    said.push(`Only the newest mentions of ${result.bounded.join(", ")} were considered.`);
  }
  if (result.indexed_percent != null) {
    said.push(`The index is being built: ${result.indexed_percent} % of the record is in it.`);
  }
  return said;
}
