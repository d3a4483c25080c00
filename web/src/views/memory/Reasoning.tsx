// A reasoning graph, as a drawing and as a list for keyboards and screen readers; each card shows
// what depends on it.
import { useMemo } from "react";
import type { Edge, Node } from "../../api/types";
import { Badge, Empty, Link, Ref, Text, type Tone, Waiting } from "../../kit/parts";
import { ofStreams, useRead } from "../../live/reads";
import { href, setParams, useRoute } from "../../shell/router";
import { Conflicts } from "./Conflicts";
import { Drawing } from "./Drawing";
import styles from "./memory.module.css";
import { Signals } from "./Signals";

const MOST = 200;
const TONES: Record<string, Tone> = { supports: "ok", blocks: "bad" };

export function Reasoning(props: { branch: string; doc: string; asOf: number | null }) {
  const { branch, doc, asOf } = props;
  const { query } = useRoute();
  const read = useRead(
    "graph.query",
    { branch, doc, limit: MOST, include_edges: true, edges_limit: 500, as_of: asOf },
    { touches: ofStreams("memory", "thinking", "work") },
  );
  const only = query.get("type");
  const chosen = query.get("card");
  const all = useMemo(() => (read.data?.nodes ?? []).filter((node) => !node.deleted), [read.data]);
  const types = [...new Set(all.map((node) => node.type))].sort();
  const nodes = only ? all.filter((node) => node.type === only) : all;
  const known = new Set(nodes.map((node) => node.id));
  const edges = (read.data?.edges ?? []).filter(
    (edge) => !edge.deleted && known.has(edge.from) && known.has(edge.to),
  );
  if (!read.data) return <Waiting error={read.error} />;
  if (all.length === 0) {
    return (
      <Empty title="No cards yet.">
        Add one: <code>longhouse think add hypothesis 'The cache is cold'</code>
      </Empty>
    );
  }
  return (
    <section aria-label="Reasoning" className={styles.main}>
      <fieldset className={`row ${styles.types}`}>
        <legend className="hidden-label">Filter cards by type</legend>
        {["", ...types].map((type) => (
          <button
            key={type}
            type="button"
            className="button"
            aria-pressed={(only ?? "") === type}
            onClick={() => setParams({ type })}
          >
            {type || "all"}
          </button>
        ))}
      </fieldset>
      <Conflicts branch={branch} doc={doc} asOf={asOf} />
      {asOf === null && <Signals branch={branch} doc={doc} />}
      <Drawing nodes={nodes} edges={edges} chosen={chosen} />
      {read.data.pagination.has_more && (
        <p className="soft small">Showing the newest {MOST} cards; there are more.</p>
      )}
      <ul className={`card ${styles.list}`} aria-label="Cards">
        {nodes.map((node) => (
          <Card key={node.id} node={node} edges={edges} all={all} open={node.id === chosen} />
        ))}
      </ul>
    </section>
  );
}

function Card(props: { node: Node; edges: readonly Edge[]; all: readonly Node[]; open: boolean }) {
  const { node, edges, all, open } = props;
  const { query } = useRoute();
  const kept = Object.fromEntries(query.entries());
  const place = (id: string | null) => href("/memory", { ...kept, card: id });
  const named = (id: string) => all.find((one) => one.id === id)?.title ?? id;
  return (
    <li data-stop data-chosen={open || undefined}>
      <div className={styles.line}>
        <Link href={place(open ? null : node.id)} aria-expanded={open}>
          {node.title || node.id}
        </Link>
        <span className="row">
          <Badge tone="info">{node.type}</Badge>
          {node.status && <Badge tone="plain">{node.status}</Badge>}
        </span>
      </div>
      {edges
        .filter((edge) => edge.from === node.id)
        .map((edge) => (
          <p key={`${edge.rel} ${edge.to}`} className="small">
            <Badge tone={TONES[edge.rel] ?? "plain"}>{edge.rel}</Badge>{" "}
            <Link href={place(edge.to)}>{named(edge.to)}</Link>
          </p>
        ))}
      {open && node.text && <Text>{node.text}</Text>}
      {open && <Blast card={node.id} />}
    </li>
  );
}

/** What would need another look if this card were wrong. */
function Blast({ card }: { card: string }) {
  const isCard = card.startsWith("CARD-");
  const read = useRead("think.blast", isCard ? { card } : null, {
    touches: ofStreams("memory", "thinking", "work", "jobs"),
  });
  if (!isCard) return null;
  if (!read.data) return <Waiting error={read.error} />;
  const { rests, has_more_rests } = read.data;
  return (
    <section aria-label="What depends on it" className={styles.blast}>
      <h3>{rests.length === 0 ? "Nothing depends on it." : "If it is wrong, review"}</h3>
      <ul>
        {rests.map((one) => (
          <li key={one.ref} className="small">
            <Badge tone="warn">{one.kind}</Badge> {one.title} <Ref id={one.ref} />{" "}
            <span className="soft">{one.via.replace(":", " ")}</span>
          </li>
        ))}
      </ul>
      {has_more_rests && <p className="soft small">There are more.</p>}
    </section>
  );
}
