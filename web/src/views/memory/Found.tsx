// Search results: what was found, where it stands, and what to try if that is little.
import { useState } from "react";
import type { SearchHit, SearchResult, TranscriptsFound } from "../../api/types";
import { Age, Badge, Empty, Link, Waiting } from "../../kit/parts";
import { setParams } from "../../shell/router";
import { corrected, placeOfHit, remarks, standing, useSearch } from "../../shell/searching";
import styles from "./memory.module.css";

const PAGE = 20;
const MOST = 100;
const KINDS = ["note", "card", "task", "job", "message", "process", "artifact", "transcript"];

export function Found(props: { text: string; kind: string | null; asOf: number | null }) {
  const { text, kind, asOf } = props;
  const [limit, setLimit] = useState(PAGE);
  const read = useSearch(text, { kind, limit, as_of: asOf });
  return (
    <section aria-label="Search results" aria-busy={read.stale} className={styles.main}>
      <fieldset className={styles.kinds}>
        <legend className="hidden-label">Kind</legend>
        {[null, ...KINDS].map((one) => (
          <button
            key={one ?? "all"}
            type="button"
            className="button"
            aria-pressed={one === kind}
            onClick={() => setParams({ kind: one })}
          >
            {one ?? "all"}
          </button>
        ))}
      </fieldset>
      {!read.data && <Waiting error={read.error} />}
      {read.data && <Remarks text={text} result={read.data} kind={kind} />}
      {read.data && read.data.hits.length > 0 && (
        <ul className={`card ${styles.list}`}>
          {read.data.hits.map((hit) => (
            <Hit key={hit.ref} hit={hit} />
          ))}
        </ul>
      )}
      {read.data?.transcripts && <Spoken found={read.data.transcripts} />}
      {read.data?.pagination.has_more &&
        (limit < MOST ? (
          <button type="button" className="button" onClick={() => setLimit(MOST)}>
            Show more
          </button>
        ) : (
          <p className="soft small">There are more; narrow your search.</p>
        ))}
    </section>
  );
}

function Hit({ hit }: { hit: SearchHit }) {
  return (
    <li data-stop>
      <div className={styles.line}>
        <Link href={placeOfHit(hit)}>{hit.title || hit.ref}</Link>
        <span className="soft small">
          {hit.gone && (
            <>
              <Badge tone="warn">
                {hit.instead ? `${hit.gone} by ${hit.instead}` : hit.gone}
              </Badge>{" "}
            </>
          )}
          {standing(hit)} · <Age at={Date.parse(hit.ts)} />
        </span>
      </div>
      {hit.text && <p className="clamp small">{hit.text}</p>}
      {hit.why && <p className="soft small">{hit.why}</p>}
    </li>
  );
}

function Remarks(props: { text: string; result: SearchResult; kind: string | null }) {
  const { text, result, kind } = props;
  const better = corrected(text, result);
  const said = remarks(result);
  const spoken = result.transcripts?.hits.length ?? 0;
  const tries = (
    <p className="row small">
      {better && (
        <button type="button" className="button" onClick={() => setParams({ q: better })}>
          Search for “{better}”
        </button>
      )}
      {kind && result.hits.length === 0 && (
        <button type="button" className="button" onClick={() => setParams({ kind: null })}>
          Search everything
        </button>
      )}
    </p>
  );
  if (result.hits.length === 0 && spoken === 0) {
    return (
      <Empty title={`No results for “${text}”.`}>
        {said.length > 0 ? said.join(" ") : "Try fewer or different words."}
        {tries}
      </Empty>
    );
  }
  if (said.length === 0) return null;
  return (
    <div className="soft small" role="status">
      <p>{said.join(" ")}</p>
      {tries}
    </div>
  );
}

function Spoken({ found }: { found: TranscriptsFound }) {
  const { files, truncated } = found.scanned;
  return (
    <section aria-label="Transcripts" className={styles.main}>
      {found.hits.length > 0 && (
        <>
          <h2>Said in sessions</h2>
          <ul className={`card ${styles.list}`}>
            {found.hits.map((hit) => (
              <li key={`${hit.path}:${hit.line}`} data-stop>
                <div className={styles.line}>
                  <span className="one-line">
                    {hit.path}:{hit.line}
                  </span>
                  <span className="soft small">
                    {hit.role} {hit.ts && <Age at={Date.parse(hit.ts)} />}
                  </span>
                </div>
                <p className="clamp small">{hit.text}</p>
              </li>
            ))}
          </ul>
        </>
      )}
      <p className="soft small">
        {files === 1 ? "1 session was" : `${files} sessions were`} read
        {truncated ? "; older ones were left out." : "."}
      </p>
    </section>
  );
}
