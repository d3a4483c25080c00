// What jobs changed and had not reserved, as their runners saw it, and whose files that were.
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
          No job has changed a file that it had not reserved. Runners look after every slice.
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
        <Ref id={change.job_id} /> changed
      </span>
      <ul className={styles.paths}>
        {change.files.map((file) => (
          <File key={file.path} file={file} />
        ))}
      </ul>
      <span className="soft">
        {change.more > 0 && `and ${change.more} more · `}
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
      {file.holder && <Badge tone="bad">{file.holder} holds it</Badge>}
    </li>
  );
}
