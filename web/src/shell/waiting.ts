// How many items need the user: shown in the tab's title and icon, and by notifications if the user
// turned them on.
import { makeStore, useStore } from "../kit/store";

export interface Waits {
  id: string;
  who: string;
  why: string;
  place: string;
}

const KEY = "longhouse.notify";
const store = makeStore<{ all: readonly Waits[]; told: ReadonlySet<string> | null }>({
  all: [],
  told: null,
});

export function useWaiting(): number {
  return useStore(store).all.length;
}

/** Set the items that need the user, and notify about the new ones if notifications are on. */
export function setWaiting(all: readonly Waits[]): void {
  const { told, all: before } = store.get();
  const ids = new Set(all.map((one) => one.id));
  const same = before.length === all.length && before.every((one) => ids.has(one.id));
  if (told) for (const one of all) if (!told.has(one.id)) notify(one);
  if (!same || !told) store.set({ all, told: ids });
}

export function waitingTitle(view: string, waiting: number): void {
  document.title = waiting ? `(${waiting}) ${view} · Longhouse` : `${view} · Longhouse`;
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  const wanted = waiting ? "/static/icon-waiting.svg" : "/static/icon.svg";
  if (icon && icon.getAttribute("href") !== wanted) icon.setAttribute("href", wanted);
}

export function notifying(): boolean {
  return (
    "Notification" in window &&
    Notification.permission === "granted" &&
    localStorage.getItem(KEY) === "yes"
  );
}

/** Turn notifications on, asking for the browser's permission, or off. */
export async function chooseNotify(wanted: boolean): Promise<boolean> {
  if (wanted && "Notification" in window) await Notification.requestPermission();
  localStorage.setItem(KEY, wanted ? "yes" : "no");
  return notifying();
}

function notify(one: Waits): void {
  if (!notifying() || document.visibilityState === "visible") return;
  try {
    const shown = new Notification(one.who, { body: one.why, tag: one.id });
    shown.onclick = () => {
      window.focus();
      location.assign(one.place);
    };
  } catch {
    // Phones allow notifications only from service workers; the title and icon still show the count.
  }
}
