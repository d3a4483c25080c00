// The frame around every view: navigation, connection, palette, keyboard.
import { type ReactNode, Suspense, useEffect, useState } from "react";
import { session, signOut } from "../api/session";
import { Empty, Link, Waiting } from "../kit/parts";
import { useStore } from "../kit/store";
import { moment } from "../kit/times";
import { log, useLog } from "../live/log";
import { PastSeq, usePastTime, useReadTime } from "../live/past";
import { link } from "../live/tabs";
import styles from "./app.module.css";
import { Connection } from "./Connection";
import { Palette } from "./Palette";
import { href, usePast, useRoute } from "./router";
import { Scrubber } from "./Scrubber";
import { SignIn } from "./SignIn";
import { Shortcuts, useShortcuts } from "./shortcuts";
import { flipTheme } from "./theme";
import { Undo } from "./Undo";
import { VIEWS, viewAt } from "./views";
import { Watcher } from "./Watcher";
import { Workspaces } from "./Workspaces";
import { useWaiting, waitingTitle } from "./waiting";

export function App() {
  const { state } = useStore(session);
  if (state === "signed-out") return <SignIn />;
  if (state === "looking") return <Opening />;
  return <House />;
}

function Opening() {
  return (
    <main className={styles.opening}>
      <Connection />
      <p className="soft" role="status">
        Opening Longhouse…
      </p>
    </main>
  );
}

function House() {
  const { parts } = useRoute();
  const view = viewAt(parts);
  const waiting = useWaiting();
  const past = usePast();
  const [palette, showPalette] = useState(false);
  const [help, showHelp] = useState(false);
  useShortcuts({ palette: () => showPalette(true), help: () => showHelp(true) });
  useEffect(() => waitingTitle(view?.title ?? "Not found", waiting), [view, waiting]);
  return (
    <div className={styles.frame}>
      <a className={styles.skip} href="#main">
        Skip to main content
      </a>
      <header className={styles.side}>
        <Link className={styles.brand} href={href("/")}>
          <img src="/static/icon.svg" alt="" width="26" height="26" />
          Longhouse
        </Link>
        <Workspaces />
        <nav aria-label="Views" className={styles.nav}>
          {VIEWS.map((one) => (
            <Link
              key={one.name}
              href={href(one.path)}
              className={styles.item}
              data-pocket={one.pocket || undefined}
              aria-current={one === view ? "page" : undefined}
            >
              {one.title}
              {one.name === "now" && waiting > 0 && (
                <span className={styles.count}>
                  {waiting}
                  <span className="hidden-label"> waiting for you</span>
                </span>
              )}
            </Link>
          ))}
        </nav>
        <div className={styles.foot}>
          <button type="button" className={styles.tool} onClick={() => showPalette(true)}>
            <span>
              Search<span className={styles.wide}> or run…</span>
            </span>
            <kbd>Ctrl K</kbd>
          </button>
          <button type="button" className={styles.tool} onClick={flipTheme}>
            Switch theme
          </button>
          <button type="button" className={styles.tool} onClick={() => signOut("")}>
            Sign out
          </button>
        </div>
      </header>
      <div className={styles.body}>
        <Connection />
        <Past />
        <main id="main" className={styles.main} tabIndex={-1}>
          <Suspense fallback={<Waiting error={undefined} />}>
            {view ? (
              <PastSeq value={past}>
                <Within past={past}>
                  <view.body />
                </Within>
              </PastSeq>
            ) : (
              <Empty title="Page not found.">
                Go to <Link href={href("/")}>Now</Link>, or press <kbd>Ctrl K</kbd> to search.
              </Empty>
            )}
          </Suspense>
        </main>
      </div>
      <Undo />
      <Watcher />
      {palette && <Palette onClose={() => showPalette(false)} />}
      {help && <Shortcuts onClose={() => showHelp(false)} />}
    </div>
  );
}

/** Shows a view only if the log has reached the requested moment. */
function Within({ past, children }: { past: number | null; children: ReactNode }) {
  return past === null ? children : <Known past={past}>{children}</Known>;
}

function Known({ past, children }: { past: number; children: ReactNode }) {
  const { path } = useRoute();
  useLog();
  const { state } = useStore(link);
  if (past <= log.head) return children;
  // The end of the log is not known until the page has caught up.
  if (!Number.isNaN(past) && state !== "live") return <Waiting error={undefined} />;
  const said = Number.isNaN(past)
    ? "The as_of in this address is not a row number."
    : `The log has not reached row ${past.toLocaleString("en")} yet.`;
  return (
    <>
      <h1>No such moment</h1>
      <Empty title={said}>
        A moment is a row number of the log: 0 is before the first row, and{" "}
        {log.head.toLocaleString("en")} is the newest.{" "}
        <Link href={href(path, { as_of: null })}>Back to now</Link>
      </Empty>
    </>
  );
}

/** The banner over a view of the past, which is read-only. */
function Past() {
  const seq = usePast();
  const { path } = useRoute();
  const then = usePastTime(seq);
  useReadTime(seq);
  if (seq === null || Number.isNaN(seq)) return null;
  return (
    <section className={styles.past} aria-label="The past">
      <p role="status">
        You are viewing the past, as of row {seq.toLocaleString("en")}
        {then > 0 && ` (${moment(then)})`}. Nothing can be changed here.{" "}
        <Link href={href(path, { as_of: null })}>Back to now</Link>
      </p>
      <Scrubber past={seq} />
    </section>
  );
}
