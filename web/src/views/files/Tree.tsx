// The reservation map: a tree of folders, each with its holders.
import { useState } from "react";
import { usePerson } from "../../api/person";
import { useMay } from "../../api/roles";
import type { Reservation } from "../../api/types";
import { Badge, Left, Ref, Refused } from "../../kit/parts";
import { type Act, act, putAway, usePending } from "../../live/acts";
import { useNow } from "../../live/clock";
import { Ask } from "./Ask";
import styles from "./files.module.css";
import { type Folder, isFirm } from "./scopes";

const HUES = 8;

interface Shown {
  holders: readonly string[];
  overlaps: Map<string, string[]>;
  /** The reservations that overlap the typed scope. */
  met: ReadonlySet<string>;
  pending: Map<string, Act>;
}

export function Tree({
  tree,
  at,
  ...shown
}: Omit<Shown, "pending"> & { tree: Folder; at: number }) {
  const pending = usePending(at);
  const all = { ...shown, pending };
  return (
    <ul className={`card ${styles.tree}`}>
      {tree.held.length > 0 && <Branch folder={{ ...tree, inside: [] }} {...all} />}
      {tree.inside.map((folder) => (
        <Branch key={folder.path} folder={folder} {...all} />
      ))}
    </ul>
  );
}

function Branch({ folder, ...shown }: Shown & { folder: Folder }) {
  return (
    <li>
      <div className={styles.folder}>
        <code className={styles.name}>{folder.name}</code>
        {folder.held.map((held) => (
          <Held key={held.reservation_id} held={held} {...shown} />
        ))}
      </div>
      {folder.inside.length > 0 && (
        <ul className={styles.inside}>
          {folder.inside.map((one) => (
            <Branch key={one.path} folder={one} {...shown} />
          ))}
        </ul>
      )}
    </li>
  );
}

function Held({ held, ...shown }: Shown & { held: Reservation }) {
  const may = useMay();
  const me = usePerson();
  const now = useNow();
  const [asks, setAsks] = useState(false);
  const mine = held.agent_id === me?.name;
  const done = shown.pending.get(held.reservation_id);
  const others = shown.overlaps.get(held.reservation_id);
  const release = () => {
    if (!me) return;
    const args = { agent: me.name, agent_token: me.token, scope: held.scope };
    act("agents.release", held.reservation_id, "Released", args).catch(() => {});
  };
  if (done && done.state !== "refused") {
    return (
      <p className={`small ${styles.done}`} role="status">
        {done.said}
      </p>
    );
  }
  return (
    <article
      className={styles.held}
      data-stop
      data-hue={shown.holders.indexOf(held.agent_id) % HUES}
      data-met={shown.met.has(held.reservation_id) || undefined}
      aria-label={`${held.agent_id} holds ${held.scope}`}
    >
      <div className={styles.heldLine}>
        <span className={styles.swatch} aria-hidden="true" />
        <strong>{mine ? "You" : held.agent_id}</strong>
        <span className="soft small">
          {held.scope.endsWith("*") ? "everything in it" : "only this"}, for{" "}
          <Ref id={held.bead_id} />
        </span>
        {held.mode === "shared" && <Badge tone="info">Shared</Badge>}
        {!isFirm(held, now) && <Badge tone="warn">{silent(held, now)}</Badge>}
        {others && <Badge tone="warn">Overlaps {others.join(", ")}</Badge>}
        {shown.met.has(held.reservation_id) && <Badge tone="accent">Conflicts</Badge>}
        <span className={styles.side}>
          <span className="soft small">
            <Left until={Date.parse(held.expires_at)} over="expired" />
          </span>
          {mine && may("agents.release") && (
            <button type="button" className="button" onClick={release}>
              Release
            </button>
          )}
          {!mine && may("agents.send") && (
            <button
              type="button"
              className="button"
              aria-expanded={asks}
              aria-label={`Ask ${held.agent_id}`}
              onClick={() => setAsks(!asks)}
            >
              Ask
            </button>
          )}
        </span>
      </div>
      {done?.error && <Refused error={done.error} onClose={() => putAway(done.id)} />}
      {asks && <Ask held={held} onSent={() => setAsks(false)} />}
    </article>
  );
}

function silent(held: Reservation, now: number): string {
  if (Date.parse(held.expires_at) <= now) return "Expired";
  return held.owner_liveness === "evicted" ? "Holder evicted" : "Holder stale";
}
