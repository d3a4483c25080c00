// The Memory view: search, documents, branch comparison and reasoning graphs.
import { useId } from "react";
import { Empty, Link, Waiting } from "../../kit/parts";
import { ofStreams, useRead } from "../../live/reads";
import { href, setParams, usePast, useRoute } from "../../shell/router";
import { Difference } from "./Difference";
import { Entries } from "./Entries";
import { Found } from "./Found";
import { Jump } from "./Jump";
import styles from "./memory.module.css";
import { Reasoning } from "./Reasoning";

const WRITES = ofStreams("memory", "thinking", "work", "jobs");

export default function Memory() {
  const { parts } = useRoute();
  return parts[1] ? <Jump key={parts[1]} id={parts[1]} /> : <Shown />;
}

function Shown() {
  const id = useId();
  const { query } = useRoute();
  const asOf = usePast();
  const text = query.get("q") ?? "";
  const other = query.get("to");
  const branches = useRead("vcs.branch.list", { limit: 200, as_of: asOf }, { touches: WRITES });
  const branch = query.get("branch") ?? branches.data?.branches[0]?.name ?? null;
  const docs = useRead("docs.list", branch ? { ref: branch, limit: 200, as_of: asOf } : null, {
    touches: WRITES,
  });
  const doc = query.get("doc") ?? docs.data?.docs[0]?.doc ?? null;
  const kind = docs.data?.docs.find((one) => one.doc === doc)?.kind;
  const names = branches.data?.branches.map((one) => one.name) ?? [];
  return (
    <>
      <header className={styles.head}>
        <h1>Memory</h1>
        <search className={styles.search}>
          <label className="hidden-label" htmlFor={id}>
            Search memory
          </label>
          <input
            id={id}
            type="search"
            className="field"
            placeholder="Search memory"
            value={text}
            onChange={(event) => setParams({ q: event.target.value })}
          />
        </search>
      </header>
      {!branches.data && <Waiting error={branches.error} />}
      {branches.data && names.length === 0 && (
        <Empty title="Memory is empty.">
          Write a note: <code>longhouse note 'The login test has failed since Tuesday.'</code>
        </Empty>
      )}
      {branch && (
        <div className={styles.columns}>
          <div className={styles.side}>
            <Choice
              title="Branches"
              names={names}
              chosen={branch}
              to={(name) => href("/memory", { branch: name })}
            />
            <Choice
              title="Documents"
              names={docs.data?.docs.map((one) => one.doc) ?? []}
              chosen={text.trim() ? null : doc}
              to={(name) => href("/memory", { branch, doc: name })}
            />
            {branches.data?.pagination.has_more && (
              <p className="soft small">Showing the newest branches; there are more.</p>
            )}
          </div>
          <div className={styles.main}>
            {text.trim() ? (
              <Found text={text.trim()} kind={query.get("kind")} asOf={asOf} />
            ) : (
              doc && (
                <>
                  <Compare branch={branch} other={other} names={names} />
                  {other ? (
                    <Difference from={branch} to={other} doc={doc} asOf={asOf} />
                  ) : kind === "graph" ? (
                    <Reasoning branch={branch} doc={doc} asOf={asOf} />
                  ) : (
                    <Entries branch={branch} doc={doc} asOf={asOf} />
                  )}
                </>
              )
            )}
            {docs.data && !doc && (
              <Empty title="This branch is empty.">
                Write a note: <code>longhouse note 'What you found'</code>
              </Empty>
            )}
          </div>
        </div>
      )}
    </>
  );
}

function Choice(props: {
  title: string;
  names: readonly string[];
  chosen: string | null;
  to: (name: string) => string;
}) {
  if (props.names.length === 0) return null;
  return (
    <nav aria-label={props.title}>
      <h2>{props.title}</h2>
      <ul className={styles.choice}>
        {props.names.map((name) => (
          <li key={name}>
            <Link
              href={props.to(name)}
              className="one-line"
              title={name}
              data-stop
              aria-current={name === props.chosen || undefined}
            >
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Compare(props: { branch: string; other: string | null; names: readonly string[] }) {
  const id = useId();
  const others = props.names.filter((name) => name !== props.branch);
  if (others.length === 0) return null;
  return (
    <div className="row">
      <label className="small soft" htmlFor={id}>
        Compare {props.branch} with
      </label>
      <select
        id={id}
        className={`field ${styles.compare}`}
        value={props.other ?? ""}
        onChange={(event) => setParams({ to: event.target.value })}
      >
        <option value="">(none)</option>
        {others.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </div>
  );
}
