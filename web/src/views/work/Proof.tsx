// One proof receipt, expanded: what ran, its exit code, the bytes it printed, and a check that they
// still match the recorded digest.
import { lazy, Suspense, useState } from "react";
import { type Args, CallError, call } from "../../api/calls";
import { may } from "../../api/roles";
import { session } from "../../api/session";
import type { ShownReceipt, TaskView } from "../../api/types";
import { Badge, Ref, type Tone, Waiting } from "../../kit/parts";
import { kindOf, refsIn } from "../../kit/refs";
import { useStore } from "../../kit/store";
import { useRead } from "../../live/reads";
import styles from "./work.module.css";

const Artifact = lazy(() => import("../jobs/Artifact"));

const KINDS: Record<ShownReceipt["receipt"]["kind"], string> = {
  cmd: "a command that ran",
  hash: "a digest",
  job: "a job",
  link: "a link",
  note: "a note",
  ref: "a reference",
  tool: "a background process",
};

export function Proof({ proof }: { proof: ShownReceipt }) {
  const { receipt } = proof;
  const [open, show] = useState(false);
  const failed = typeof receipt.exit_code === "number" && receipt.exit_code !== 0;
  const process = refsIn(receipt.text).find((ref) => kindOf(ref) === "process");
  return (
    <details
      className={`small ${styles.proof}`}
      onToggle={(event) => show(event.currentTarget.open)}
    >
      <summary>
        <Badge tone={failed ? "bad" : receipt.proves ? "ok" : "plain"}>
          {proof.checkpoint ?? "proof"}
        </Badge>{" "}
        <code>{receipt.command ?? receipt.text}</code>
      </summary>
      <dl className={styles.receipt}>
        <dt>Kind</dt>
        <dd>{KINDS[receipt.kind]}</dd>
        {receipt.command && (
          <>
            <dt>Ran as</dt>
            <dd>
              <Ref id={receipt.text} />
            </dd>
          </>
        )}
        {!receipt.command && receipt.kind !== "cmd" && (
          <>
            <dt>Evidence</dt>
            <dd>
              {receipt.kind === "link" ? <Away to={receipt.text} /> : <Ref id={receipt.text} />}
            </dd>
          </>
        )}
        {receipt.exit_code != null && (
          <>
            <dt>Exit code</dt>
            <dd>{receipt.exit_code}</dd>
          </>
        )}
        <dt>Recorded</dt>
        <dd>
          <code>{proof.ref}</code>
        </dd>
        <dt>Counts as</dt>
        <dd>{receipt.proves ? "proof" : "a note only"}</dd>
      </dl>
      {open && process && receipt.digest && <Printed task={process} digest={receipt.digest} />}
      {open && receipt.artifact && (
        <Suspense fallback={<p className="soft">Loading…</p>}>
          <Artifact id={receipt.artifact} />
        </Suspense>
      )}
    </details>
  );
}

function Away({ to }: { to: string }) {
  if (!/^https?:\/\//i.test(to)) return <code>{to}</code>;
  return (
    <a href={to} rel="noopener noreferrer nofollow" target="_blank">
      {to}
    </a>
  );
}

interface Log {
  bytes: number;
  sha256?: string | null;
  gap?: { from: number; to: number } | null;
}

/** A process's output: its byte range, its digest, and a button to verify them. */
function Printed({ task, digest }: { task: string; digest: string }) {
  const { data, error } = useRead("tool.task_status", { task_id: task });
  if (!data) return <Waiting error={error} />;
  const logs = Object.entries((data.task.artifacts.logs ?? {}) as Record<string, Log>);
  const [stream, log] = logs.find(([, one]) => one.sha256 === digest) ?? [];
  return (
    <dl className={styles.receipt}>
      {stream && log && (
        <>
          <dt>Output</dt>
          <dd>
            bytes 0 to {log.bytes.toLocaleString("en")} of {stream}
          </dd>
        </>
      )}
      <dt>Digest</dt>
      <dd>
        <code>sha256:{digest.slice(0, 16)}…</code>{" "}
        {stream && log ? (
          <Check task={data.task} stream={stream as Stream} log={log} digest={digest} />
        ) : (
          <Badge tone="bad">No longer matches the output of {task}</Badge>
        )}
      </dd>
    </dl>
  );
}

type Stream = NonNullable<Args<"tool.output_raw">["stream"]>;
type Verdict = "same" | "other" | "gone" | "forbidden" | "unable";

const VERDICTS: Record<Verdict, [string, Tone]> = {
  same: ["Verified: the bytes match", "ok"],
  other: ["The bytes do not match", "bad"],
  gone: ["Some of the bytes were not kept", "warn"],
  forbidden: ["Only its owner or a manager can verify it", "plain"],
  unable: ["Cannot be verified here", "plain"],
};

function Check(props: { task: TaskView; stream: Stream; log: Log; digest: string }) {
  const [verdict, settle] = useState<Verdict | "reading" | null>(null);
  const { me } = useStore(session);
  const check = async () => {
    settle("reading");
    if (props.log.gap) return settle("gone");
    // Browsers compute digests only in secure contexts.
    if (!crypto.subtle) return settle("unable");
    try {
      const bytes = await readAll(props.task.task_id, props.stream, props.log.bytes);
      settle((await sha256(bytes)) === props.digest ? "same" : "other");
    } catch (error) {
      settle(error instanceof CallError && error.code === "FORBIDDEN" ? "forbidden" : "unable");
    }
  };
  if (verdict && verdict !== "reading") {
    const [words, tone] = VERDICTS[verdict];
    return <Badge tone={tone}>{words}</Badge>;
  }
  // Verifying changes nothing, so it is offered in the past too.
  if (!may(me?.role, "tool.output_raw")) return null;
  return (
    <button
      type="button"
      className="button"
      disabled={verdict === "reading"}
      onClick={() => void check()}
    >
      {verdict === "reading" ? "Verifying…" : "Verify"}
    </button>
  );
}

async function readAll(
  task_id: string,
  stream: Stream,
  size: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; ) {
    const read = await call("tool.output_raw", { task_id, stream, offset_bytes: at });
    if (read.bytes === 0) return bytes.slice(0, at);
    bytes.set(
      Uint8Array.from(atob(read.data_b64), (char) => char.charCodeAt(0)),
      at,
    );
    at += read.bytes;
  }
  return bytes;
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const found = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(found), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
