// Where in the log one stands: at its end, or at any seq before it.
import { useEffect, useState } from "react";
import { Link } from "../../kit/parts";
import { go, href, route } from "../../shell/router";
import styles from "./history.module.css";

const SETTLE_MS = 250;

export function Scrubber({ past, head }: { past: number | null; head: number }) {
  const [dragged, drag] = useState<number | null>(null);
  const at = dragged ?? Math.min(past ?? head, head);
  useEffect(() => {
    if (dragged === null) return;
    const settled = setTimeout(() => {
      const kept = Object.fromEntries(route().query.entries());
      go(href("/history", { ...kept, as_of: dragged >= head ? null : String(dragged) }), "replace");
      drag(null);
    }, SETTLE_MS);
    return () => clearTimeout(settled);
  }, [dragged, head]);
  if (head < 2) return null;
  return (
    <div className={styles.scrubber}>
      <label className="small soft" htmlFor="scrubber">
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
      {past !== null && (
        <Link className="button" href={href("/history", { as_of: null })}>
          To now
        </Link>
      )}
    </div>
  );
}
