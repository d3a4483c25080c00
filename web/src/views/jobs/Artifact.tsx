// What an artifact holds: a diff in colours, else its text; with its digest checked here.
import { useState } from "react";
import type { ArtifactShown } from "../../api/types";
import { Badge, Waiting } from "../../kit/parts";
import { useRead } from "../../live/reads";
import styles from "./artifact.module.css";

const BYTES = 65_536;

export default function Artifact({ id }: { id: string }) {
  const { data, error } = useRead("docs.artifact.show", { id, bytes: BYTES });
  if (!data) return <Waiting error={error} />;
  const text = textOf(data);
  const diff = /^(diff --git|--- |Index: )/m.test(text);
  return (
    <figure className={styles.artifact}>
      <figcaption className="row small">
        <strong>{data.artifact.name}</strong>
        <span className="soft">{data.artifact.size.toLocaleString("en")} bytes</span>
        <Digest shown={data} />
      </figcaption>
      <pre className={styles.text} tabIndex={0}>
        {diff ? <Diff text={text} /> : text}
      </pre>
      {data.has_more && (
        <p className="soft small">
          The first {BYTES.toLocaleString("en")} bytes; all of it: <code>longhouse open {id}</code>
        </p>
      )}
    </figure>
  );
}

function Diff({ text }: { text: string }) {
  return text.split("\n").map((line, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: lines of a sealed text never move
    <span key={index} className={styles.line} data-sort={sortOf(line)}>
      {line}
      {"\n"}
    </span>
  ));
}

function sortOf(line: string): string | undefined {
  if (/^(diff |index |--- |\+\+\+ )/.test(line)) return "head";
  if (line.startsWith("@@")) return "place";
  if (line.startsWith("+")) return "added";
  if (line.startsWith("-")) return "removed";
  return undefined;
}

/** The digest of what arrived, compared with what the record says. */
function Digest({ shown }: { shown: ArtifactShown }) {
  const [verdict, setVerdict] = useState<"same" | "other" | "unable" | null>(null);
  const { digest } = shown.artifact;
  if (!digest) return <span className="soft">still grows</span>;
  if (verdict === "same") return <Badge tone="ok">Digest checked</Badge>;
  if (verdict === "other") return <Badge tone="bad">Digest differs</Badge>;
  if (verdict === "unable") return <Badge tone="plain">Cannot be checked here</Badge>;
  return (
    <button
      type="button"
      className="button"
      data-kind="quiet"
      onClick={() => void check(shown, digest).then(setVerdict)}
    >
      Check the digest
    </button>
  );
}

async function check(shown: ArtifactShown, digest: string): Promise<"same" | "other" | "unable"> {
  if (shown.has_more || !crypto.subtle) return "unable";
  const found = await crypto.subtle.digest("SHA-256", bytesOf(shown));
  const hex = Array.from(new Uint8Array(found), (byte) => byte.toString(16).padStart(2, "0"));
  return digest.endsWith(hex.join("")) ? "same" : "other";
}

function textOf(shown: ArtifactShown): string {
  return new TextDecoder().decode(bytesOf(shown));
}

function bytesOf(shown: ArtifactShown): Uint8Array<ArrayBuffer> {
  const whole = shown.parts.map((part) => part.text).join("");
  if (shown.encoding === "text") return new TextEncoder().encode(whole);
  return Uint8Array.from(atob(whole), (char) => char.charCodeAt(0));
}
