// Files that were changed without a reservation, as runners and agents saw it, and who held them.
import type { ChangeOutside, FileOutside } from "../../api/types";
import { Age, Badge, Link, Ref } from "../../kit/parts";
import { href } from "../../shell/router";
import styles from "./files.module.css";

export function Outside({ all }: { all: readonly ChangeOutside[] }) {
  return (
    <section aria-labelledby="outside" className={styles.section}>
      <h2 id="outside">Changed without a reservation</h2>
      {all.length === 0 && (
        <p className="soft small">
          No such changes were seen. In a project that uses git, runners compare its files before
          and after each agent run, and <code>longhouse mcp</code> checks its checkout after calls.
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
        {change.job_id ? "changed" : "saw changes in its checkout:"}
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
