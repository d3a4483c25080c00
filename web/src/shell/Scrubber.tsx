// A slider over the log: its end is now; any earlier seq shows the current view as of then.
import { useEffect, useState } from "react";
import { log, useLog } from "../live/log";
import { go, href, route } from "./router";
import styles from "./scrubber.module.css";

const SETTLE_MS = 250;

export function Scrubber({ past }: { past: number | null }) {
  useLog();
  const { head } = log;
  const [dragged, drag] = useState<number | null>(null);
  const at = dragged ?? Math.min(past ?? head, head);
  useEffect(() => {
    if (dragged === null) return;
    const settled = setTimeout(() => {
      const { path, query } = route();
      const as_of = dragged >= log.head ? null : String(dragged);
      go(href(path, { ...Object.fromEntries(query.entries()), as_of }), "replace");
      drag(null);
    }, SETTLE_MS);
    return () => clearTimeout(settled);
  }, [dragged]);
  if (head < 2) return null;
  return (
    <div className={styles.scrubber}>
      <label className="small" htmlFor="scrubber">
        Rewind
      </label>
      <input
        id="scrubber"
        type="range"
        min={1}
        max={head}
        value={at}
        aria-valuetext={at >= head ? "now" : `as of ${at}`}
        onChange={(event) => drag(Number(event.target.value))}
      />
      <output className="small" htmlFor="scrubber">
        {at >= head ? "Now" : `${at.toLocaleString("en")} of ${head.toLocaleString("en")}`}
      </output>
    </div>
  );
}
