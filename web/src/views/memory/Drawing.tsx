// The reasoning graph as a drawing: one column per card type, in the order of an argument, with edges
// between cards. The list below has the same content, so the drawing is hidden from screen readers.
import { useMemo } from "react";
import type { Edge, Node } from "../../api/types";
import { go, href, route } from "../../shell/router";
import styles from "./memory.module.css";

const ORDER = ["task", "step", "frame", "question", "hypothesis", "test", "evidence", "decision"];
const WIDTH = 190;
const HEIGHT = 46;
const GAP_X = 60;
const GAP_Y = 16;
const MOST_CHARS = 24;
/** How far a wide graph is scaled down before it scrolls instead. */
const SMALLEST = 0.72;

interface Placed {
  node: Node;
  x: number;
  y: number;
}

export function Drawing(props: {
  nodes: readonly Node[];
  edges: readonly Edge[];
  chosen: string | null;
}) {
  const placed = useMemo(() => place(props.nodes), [props.nodes]);
  const all = [...placed.values()];
  const width = Math.max(...all.map((one) => one.x + WIDTH)) + 1;
  const height = Math.max(...all.map((one) => one.y + HEIGHT)) + 1;
  return (
    <div className={`card ${styles.drawing}`} aria-hidden="true">
      <svg
        viewBox={`-1 -1 ${width + 1} ${height + 1}`}
        style={{ width: "100%", minWidth: width * SMALLEST, maxWidth: width }}
      >
        <title>The graph</title>
        {props.edges.map((edge) => {
          const from = placed.get(edge.from);
          const to = placed.get(edge.to);
          if (!from || !to) return null;
          return (
            <path
              key={`${edge.from} ${edge.rel} ${edge.to}`}
              className={styles.edge}
              data-rel={edge.rel}
              d={curve(from, to)}
            />
          );
        })}
        {all.map(({ node, x, y }) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the list has the links
          <g
            key={node.id}
            className={styles.node}
            data-type={node.type}
            data-chosen={node.id === props.chosen || undefined}
            transform={`translate(${x} ${y})`}
            onClick={() => choose(node.id)}
          >
            <rect width={WIDTH} height={HEIGHT} rx="8" />
            <text x="12" y="19" className={styles.nodeType}>
              {node.type}
            </text>
            <text x="12" y="36">
              {short(node.title || node.id)}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}

function choose(id: string): void {
  go(href("/memory", { ...Object.fromEntries(route().query.entries()), card: id }), "replace");
}

function place(nodes: readonly Node[]): Map<string, Placed> {
  const rank = (type: string) => (ORDER.includes(type) ? ORDER.indexOf(type) : ORDER.length);
  const types = [...new Set(nodes.map((node) => node.type))].sort(
    (a, b) => rank(a) - rank(b) || a.localeCompare(b),
  );
  const placed = new Map<string, Placed>();
  types.forEach((type, column) => {
    const mine = nodes.filter((node) => node.type === type).sort((a, b) => a.last_seq - b.last_seq);
    mine.forEach((node, row) => {
      placed.set(node.id, { node, x: column * (WIDTH + GAP_X), y: row * (HEIGHT + GAP_Y) });
    });
  });
  return placed;
}

function curve(from: Placed, to: Placed): string {
  const right = to.x > from.x;
  const same = to.x === from.x;
  const x1 = right || same ? from.x + WIDTH : from.x;
  const x2 = right ? to.x : to.x + WIDTH;
  const y1 = from.y + HEIGHT / 2;
  const y2 = to.y + HEIGHT / 2;
  const bend = same ? GAP_X / 2 : (x2 - x1) / 2;
  return `M ${x1} ${y1} C ${x1 + bend} ${y1}, ${same ? x2 + bend : x2 - bend} ${y2}, ${x2} ${y2}`;
}

function short(text: string): string {
  return text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS - 1)}…` : text;
}
