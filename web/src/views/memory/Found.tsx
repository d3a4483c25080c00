// Search results, each with a link to its document.
import { Age, Empty, Link, Waiting } from "../../kit/parts";
import { ofStreams, useRead } from "../../live/reads";
import { href, placeOf } from "../../shell/router";
import styles from "./memory.module.css";

export function Found({ text, asOf }: { text: string; asOf: number | null }) {
  const read = useRead(
    "docs.search",
    { text, limit: 50, as_of: asOf },
    { touches: ofStreams("memory", "thinking") },
  );
  if (!read.data) return <Waiting error={read.error} />;
  const { hits, pagination } = read.data;
  if (hits.length === 0) {
    return <Empty title={`No results for “${text}”.`}>Try fewer or different words.</Empty>;
  }
  return (
    <section aria-label="Search results">
      <ul className={`card ${styles.list}`}>
        {hits.map((hit) => (
          <li key={hit.ref} data-stop>
            <div className={styles.line}>
              <Link
                href={
                  hit.doc
                    ? href("/memory", {
                        branch: hit.branch ?? null,
                        doc: hit.doc,
                        at: String(hit.seq),
                      })
                    : (placeOf(hit.ref) ?? href("/memory"))
                }
              >
                {hit.title || hit.ref}
              </Link>
              <span className="soft small">
                {[hit.type ?? hit.kind, hit.who, hit.branch, hit.gone].filter(Boolean).join(" · ")}{" "}
                <Age at={Date.parse(hit.ts)} />
              </span>
            </div>
            {hit.text && <p className="clamp small">{hit.text}</p>}
          </li>
        ))}
      </ul>
      {pagination.has_more && <p className="soft small">There are more; narrow your search.</p>}
    </section>
  );
}
