// An artifact's content: a colored diff or plain text, with its digest verified in the browser.
import { useState } from "react";
import { type CallError, call } from "../../api/calls";
import type { ArtifactShown } from "../../api/types";
import { Badge, Refused, Waiting } from "../../kit/parts";
import { useRead } from "../../live/reads";
import styles from "./artifact.module.css";
import { Diff } from "./Diff";

const BYTES = 65_536;

export default function Artifact({ id }: { id: string }) {
  const { data, error } = useRead("docs.artifact.show", { id, bytes: BYTES });
  const [rest, setRest] = useState<ArtifactShown[]>([]);
  const [refusal, setRefusal] = useState<CallError | null>(null);
  if (!data) return <Waiting error={error} />;
  const all = [data, ...rest];
  const bytes = joined(all);
  const partly = all.at(-1)?.has_more ?? false;
  const text = new TextDecoder().decode(bytes);
  const more = () =>
    call("docs.artifact.show", {
      id,
      bytes: BYTES,
      offset_bytes: all.at(-1)?.next_cursor ?? bytes.length,
    })
      .then((next) => setRest([...rest, next]))
      .catch(setRefusal);
  const diff = /^(diff --git|--- |Index: )/m.test(text);
  return (
    <figure className={styles.artifact}>
      <figcaption className="row small">
        <strong>{data.artifact.name}</strong>
        <span className="soft">{data.artifact.size.toLocaleString("en")} bytes</span>
        <Digest key={String(partly)} digest={data.artifact.digest} bytes={partly ? null : bytes} />
      </figcaption>
      {diff ? (
        <Diff text={text} />
      ) : (
        <pre className={styles.text} tabIndex={0}>
          {text}
        </pre>
      )}
      {refusal && <Refused error={refusal} />}
      {partly && (
        <button type="button" className="button" onClick={() => void more()}>
          Show more ({bytes.length.toLocaleString("en")} of{" "}
          {data.artifact.size.toLocaleString("en")} bytes shown)
        </button>
      )}
    </figure>
  );
}

/** Compares the digest of the loaded bytes with the recorded one, once all bytes are loaded. */
function Digest(props: { digest: string | null | undefined; bytes: Bytes | null }) {
  const [verdict, setVerdict] = useState<"same" | "other" | "unable" | null>(null);
  const { digest, bytes } = props;
  if (!digest) return <span className="soft">still being written</span>;
  if (verdict === "same") return <Badge tone="ok">Digest verified</Badge>;
  if (verdict === "other") return <Badge tone="bad">Digest does not match</Badge>;
  if (verdict === "unable") return <Badge tone="plain">Cannot be verified here</Badge>;
  if (!bytes) return <span className="soft">show all of it to verify the digest</span>;
  return (
    <button
      type="button"
      className="button"
      data-kind="quiet"
      onClick={() => void check(bytes, digest).then(setVerdict)}
    >
      Verify digest
    </button>
  );
}

async function check(bytes: Bytes, digest: string): Promise<"same" | "other" | "unable"> {
  if (!crypto.subtle) return "unable";
  const found = await crypto.subtle.digest("SHA-256", bytes);
  const hex = Array.from(new Uint8Array(found), (byte) => byte.toString(16).padStart(2, "0"));
  return digest.endsWith(hex.join("")) ? "same" : "other";
}

type Bytes = Uint8Array<ArrayBuffer>;

function joined(all: readonly ArtifactShown[]): Bytes {
  const parts = all.map(bytesOf);
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function bytesOf(shown: ArtifactShown): Bytes {
  const whole = shown.parts.map((part) => part.text).join("");
  if (shown.encoding === "text") return new TextEncoder().encode(whole);
  return Uint8Array.from(atob(whole), (char) => char.charCodeAt(0));
}
