// Keyboard shortcuts: `g` and a letter go to a view, `j` and `k` move through a list.
import { useEffect, useRef } from "react";
import { Dialog } from "../kit/Dialog";
import { go, href } from "./router";
import { flipTheme } from "./theme";
import { VIEWS } from "./views";

const PATIENCE_MS = 1200;

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.closest("input, textarea, select, dialog, .xterm") !== null)
  );
}

const FOCUSABLE =
  "a[href], button:enabled, summary, textarea:enabled, input:enabled, select:enabled, [tabindex]";

/** Move the focus among the view's elements marked `data-stop`. */
function move(by: 1 | -1): void {
  const stops = [...document.querySelectorAll<HTMLElement>("#main [data-stop]")].filter((stop) =>
    stop.checkVisibility(),
  );
  const at = stops.findIndex((stop) => stop.contains(document.activeElement));
  const next = stops[at === -1 ? (by === 1 ? 0 : stops.length - 1) : at + by];
  if (!next) return;
  const inner = next.matches(FOCUSABLE)
    ? next
    : [...next.querySelectorAll<HTMLElement>(FOCUSABLE)].find((one) => one.checkVisibility());
  if (!inner) next.tabIndex = -1;
  (inner ?? next).focus();
  next.scrollIntoView({ block: "nearest" });
}

export function useShortcuts(on: { palette: () => void; help: () => void }): void {
  const latest = useRef(on);
  latest.current = on;
  useEffect(() => {
    let went = Number.NEGATIVE_INFINITY;
    const pressed = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey)) {
        event.preventDefault();
        latest.current.palette();
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      const view = event.timeStamp - went < PATIENCE_MS && VIEWS.find((v) => v.key === event.key);
      went = Number.NEGATIVE_INFINITY;
      if (view) go(href(view.path));
      else if (event.key === "g") went = event.timeStamp;
      else if (event.key === "/") latest.current.palette();
      else if (event.key === "?") latest.current.help();
      else if (event.key === "t") flipTheme();
      else if (event.key === "j") move(1);
      else if (event.key === "k") move(-1);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

export function Shortcuts({ onClose }: { onClose: () => void }) {
  const rows: [string, string][] = [
    ["Ctrl K  or  /", "Search or run a command"],
    ...VIEWS.map((view): [string, string] => [`g ${view.key}`, `Go to ${view.title}`]),
    ["j  k", "Next or previous item"],
    ["Ctrl Enter", "Send a message"],
    ["t", "Switch theme"],
    ["?", "Show this list"],
    ["Esc", "Close"],
  ];
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="keys">
        {rows.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
