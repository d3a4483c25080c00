// Text the user is typing. It is saved on every change, keyed by where it is typed, and cleared only
// when its submission succeeds, so a reload or a discarded tab loses nothing.
import { useState } from "react";
import { session } from "../api/session";

const PREFIX = "longhouse.draft";

function keyOf(place: string): string {
  return `${PREFIX}.${session.get().workspace}.${place}`;
}

export interface Draft {
  text: string;
  set(text: string): void;
  clear(): void;
}

export function useDraft(place: string): Draft {
  const key = keyOf(place);
  const [kept, keep] = useState({ key, text: localStorage.getItem(key) ?? "" });
  const text = kept.key === key ? kept.text : (localStorage.getItem(key) ?? "");
  return {
    text,
    set(changed) {
      if (changed) localStorage.setItem(key, changed);
      else localStorage.removeItem(key);
      keep({ key, text: changed });
    },
    clear() {
      localStorage.removeItem(key);
      keep({ key, text: "" });
    },
  };
}
