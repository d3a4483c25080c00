// What was changed and not reserved, as runners and agents saw it, and whose files that were.
import type { ChangeOutside, FileOutside } from "../../api/types";
import { Age, Badge, Link, Ref } from "../../kit/parts";
import { href } from "../../shell/router";
import styles from "./files.module.css";

export function Outside({ all }: { all: readonly ChangeOutside[] }) {
  return (
    <section aria-labelledby="outside" className={styles.section}>
      <h2 id="outside">Changed, though not reserved</h2>
      {all.length === 0 && (
        <p className="soft small">
          No change outside a reservation was seen. Where a project uses git, runners compare its
          files before and after each run of an agent, and <code>longhouse mcp</code> compares those
          of its checkout after calls.
        </p>
      )}
      {all.length > 0 && (
        <ul className={`card ${styles.told}`}>
          {all.map((change) => (
            <Change key={change.ref} change={change} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Change({ change }: { change: ChangeOutside }) {
  return (
    <li className="small" data-stop>
      <span>
        {change.job_id ? <Ref id={change.job_id} /> : <strong>{change.agent_id}</strong>}{" "}
        {change.job_id ? "changed" : "saw changed in its checkout"}
        {change.files.length === 0 && " many files"}
      </span>
      <ul className={styles.paths}>
        {change.files.map((file) => (
          <File key={file.path} file={file} />
        ))}
      </ul>
      <span className="soft">
        {change.unnamed > 0 && `and ${change.unnamed} more · `}
        {change.more > 0 && `${change.more} not compared with reservations · `}
        <Age at={Date.parse(change.at)} /> ·{" "}
        <Link href={href(`/history/${change.seq}`)}>in History</Link>
      </span>
    </li>
  );
}

function File({ file }: { file: FileOutside }) {
  return (
    <li>
      <code>
        <bdi>{file.path}</bdi>
      </code>{" "}
      {file.holder && <Badge tone="bad">was held by {file.holder}</Badge>}
    </li>
  );
}
