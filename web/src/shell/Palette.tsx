// The command palette: views, the page's own commands, and whatever the server's search finds.
import { useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import { signOut } from "../api/session";
import { refOf } from "../kit/refs";
import { log } from "../live/log";
import { useRead } from "../live/reads";
import styles from "./palette.module.css";
import { go, href, placeOf, route, usePast } from "./router";
import { corrected, placeOfHit, remarks, standing, useSearch } from "./searching";
import { flipTheme } from "./theme";
import { VIEWS } from "./views";
import { chooseNotify, notifying } from "./waiting";

interface Item {
  id: string;
  title: string;
  hint: string;
  /** A line below the title: the sentence that answers. */
  said?: string;
  run: () => void;
  /** It changes what is typed, so the palette stays. */
  stays?: boolean;
}

const MOST = 12;
const MOST_HITS = 8;

export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useId();
  const [found, said] = useItems(text, setText);
  const chosen = found[Math.min(at, found.length - 1)];
  // Closing it while it is still in the document restores the focus.
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  const run = (item: Item | undefined) => {
    if (!item) return;
    if (!item.stays) onClose();
    item.run();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc closes it, the click is for the backdrop
    <dialog
      ref={dialog}
      className={styles.palette}
      aria-label="Search or run a command"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <input
        className={styles.input}
        role="combobox"
        aria-label="Search or run a command"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={chosen ? `${list}-${chosen.id}` : undefined}
        placeholder="Ask in plain words, or type a view, command or id"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
          else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
          else if (event.key === "Enter") run(chosen);
          else return;
          event.preventDefault();
        }}
      />
      <div id={list} role="listbox" aria-label="Results" className={styles.list}>
        {found.map((item) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are with the input
          <div
            key={item.id}
            id={`${list}-${item.id}`}
            role="option"
            tabIndex={-1}
            aria-selected={item === chosen}
            className={styles.item}
            onClick={() => run(item)}
          >
            <span className={styles.words}>
              <span className="one-line">{item.title}</span>
              {item.said && <span className={`soft small ${styles.said}`}>{item.said}</span>}
            </span>
            <span className={`soft small ${styles.hint}`}>{item.hint}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && !said && <p className={`soft ${styles.remark}`}>No matches.</p>}
      {said && (
        <p role="status" className={`soft small ${styles.remark}`}>
          {said}
        </p>
      )}
    </dialog>
  );
}

/** Show this view as it was just before the newest row; the scrubber continues from there. */
function rewind(): void {
  const { path, query } = route();
  const as_of = String(Math.max(1, log.head - 1));
  go(href(path, { ...Object.fromEntries(query.entries()), as_of }));
}

/** Titles and addresses for a typed ref: the item it names, and the item as it was then. */
function placesOf(text: string): [string, string][] {
  if (/^\d{1,15}$/.test(text)) return [[`Open row ${text} of the log`, href(`/history/${text}`)]];
  const ref = refOf(text);
  const place = placeOf(ref);
  if (!place) return [];
  const [id = "", as_of] = ref.split("@");
  const then = as_of && placeOf(id);
  const opens: [string, string] = [`Open ${ref}`, place];
  return then
    ? [opens, [`Open ${id} as it was at ${as_of}`, href(pathOf(then), { as_of })]]
    : [opens];
}

const pathOf = (place: string) => place.split("?")[0] ?? place;

/** The items for what is typed, and what to know about its words. */
function useItems(text: string, setText: (text: string) => void): [Item[], string] {
  const jobs = useRead("jobs.list", { limit: 100 }).data?.jobs;
  const tasks = useRead("tasks.context", { plans_limit: 50, tasks_limit: 100 }).data;
  const asOf = usePast();
  const search = useSearch(text, { limit: MOST_HITS, as_of: asOf, transcripts: false });
  const result = text.trim() && !search.stale ? search.data : undefined;
  const near = useMemo(() => nearby(text, jobs, tasks), [text, jobs, tasks]);
  const items = useMemo(() => {
    const known = new Set(near.map((item) => item.id));
    const hits = (result?.hits ?? []).filter((hit) => !known.has(hit.id ?? hit.ref));
    const better = result && corrected(text.trim(), result);
    const made: Item[] = hits.map((hit) => ({
      id: hit.ref,
      title: hit.title || hit.text || hit.ref,
      said: hit.title ? hit.text : undefined,
      hint: hit.gone ?? standing(hit),
      run: () => go(placeOfHit(hit)),
    }));
    if (better) {
      const title = `Search for “${better}”`;
      made.unshift({ id: "better", title, hint: "", stays: true, run: () => setText(better) });
    }
    if (result?.pagination.has_more) {
      const place = href("/memory", { q: text.trim() });
      made.push({ id: "all", title: "Show all results", hint: "", run: () => go(place) });
    }
    return [...near.slice(0, MOST), ...made];
  }, [near, result, text, setText]);
  if (!result) return [items, search.stale && text.trim() ? "Searching…" : ""];
  const said = remarks(result);
  if (result.hits.length === 0) said.unshift("Nothing was written about it.");
  return [items, said.join(" ")];
}

type Named = { id: string; title: string };

/** Views, commands, and what the page knows already, by what is typed. */
function nearby(
  text: string,
  jobs: readonly Named[] | undefined,
  tasks: { tasks: readonly Named[]; plans: readonly Named[] } | undefined,
): Item[] {
  const wanted = text.trim().toLowerCase();
  const to = (place: string | null) => () => place && go(place);
  const all: Item[] = VIEWS.map((view) => ({
    id: view.name,
    title: view.title,
    hint: `g ${view.key}`,
    run: to(href(view.path)),
  }));
  all.push(
    { id: "rewind", title: "Rewind: view the past", hint: "", run: rewind },
    { id: "theme", title: "Switch theme", hint: "t", run: flipTheme },
    {
      id: "notify",
      title: notifying() ? "Turn off notifications" : "Notify me when someone is waiting",
      hint: "",
      run: () => void chooseNotify(!notifying()),
    },
    { id: "out", title: "Sign out", hint: "", run: () => signOut("") },
  );
  const named = [...(jobs ?? []), ...(tasks?.tasks ?? []), ...(tasks?.plans ?? [])];
  for (const one of named) {
    all.push({ id: one.id, title: one.title, hint: one.id, run: to(placeOf(one.id)) });
  }
  const hits = all.filter((item) => `${item.title} ${item.hint}`.toLowerCase().includes(wanted));
  const known = hits.some((item) => item.hint.toLowerCase() === wanted);
  const opens = known ? [] : placesOf(text.trim());
  const typed = opens.map(([title, place]) => ({ id: title, title, hint: "", run: to(place) }));
  return [...typed, ...hits].slice(0, MOST);
}
