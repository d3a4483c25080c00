// Small components shared by all views.
import { type ComponentProps, lazy, type ReactNode, Suspense } from "react";
import type { CallError } from "../api/calls";
import type { ProtocolEvent } from "../api/types";
import { useNow } from "../live/clock";
import { go, placeOf } from "../shell/router";
import { age, moment } from "./times";
import { ended } from "./words";

const LazyMarkdown = lazy(() => import("./Markdown"));

/** A link within the page; a click with a modifier key opens a new tab, as usual. */
export function Link({ href, onClick, ...rest }: ComponentProps<"a"> & { href: string }) {
  return (
    <a
      {...rest}
      href={href}
      onClick={(event) => {
        onClick?.(event);
        if (event.defaultPrevented || event.button !== 0) return;
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        go(href);
      }}
    />
  );
}

/** An id as a link to the view that shows it. */
export function Ref({ id }: { id: string }) {
  const place = placeOf(id);
  if (!place) return <code className="ref">{id}</code>;
  return (
    <Link className="ref" href={place}>
      {id}
    </Link>
  );
}

export type Tone = "ok" | "warn" | "bad" | "info" | "accent" | "plain";

export function Badge(props: { tone: Tone; children: ReactNode; title?: string; dot?: boolean }) {
  return (
    <span className="badge" data-tone={props.tone} title={props.title}>
      {props.dot && <span className="dot" aria-hidden="true" />}
      {props.children}
    </span>
  );
}

/** How long ago something happened; updated every second. */
export function Age({ at, after = " ago" }: { at: number; after?: string }) {
  const now = useNow();
  return (
    <time dateTime={new Date(at).toISOString()} title={moment(at)}>
      {age(now - at)}
      {after}
    </time>
  );
}

/** The time left until a deadline, or how long ago it passed; updated every second. */
export function Left({ until, over }: { until: number; over: string }) {
  const now = useNow();
  return (
    <time dateTime={new Date(until).toISOString()} title={moment(until)}>
      {until > now ? `${age(until - now)} left` : `${over} ${age(now - until)} ago`}
    </time>
  );
}

/** An empty state, with the command that would fill it. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <p>
        <strong>{title}</strong>
      </p>
      {children && <p className="soft">{children}</p>}
    </div>
  );
}

/** Who conflicts with whose reservation: by asking for its files, or by changing them. */
export function Incursion({ event }: { event: ProtocolEvent }) {
  const { incoming_agent, owner_agent } = event.payload as Record<string, string>;
  return (
    <>
      {incoming_agent} conflicts with the holder, {owner_agent}, over <code>{event.scope}</code>
    </>
  );
}

/** Why a call was refused, and how to fix it. */
export function Refused({ error, onClose }: { error: CallError; onClose?: () => void }) {
  return (
    <div className="refused row" role="alert">
      <span>
        {ended(error.message)} {error.recovery && <span>To fix this: {ended(error.recovery)}</span>}
      </span>
      {onClose && (
        <button type="button" className="button" data-kind="quiet" onClick={onClose}>
          Dismiss
        </button>
      )}
    </div>
  );
}

/** A read that is still loading, or that failed. */
export function Waiting({ error }: { error: CallError | undefined }) {
  if (error) return <Refused error={error} />;
  return (
    <p className="soft" role="status">
      Loading…
    </p>
  );
}

/** Untrusted text, rendered as Markdown without HTML, images or scripts. */
export function Text({ children }: { children: string }) {
  return (
    <Suspense
      fallback={
        <p className="clamp" aria-busy="true">
          {children}
        </p>
      }
    >
      <LazyMarkdown text={children} />
    </Suspense>
  );
}
