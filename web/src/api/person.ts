// The user as a member of the crew: an identity of kind `person`, so that agents can write to them
// and their messages are recorded under their name. Its token is useless without a signed-in session.
import { makeStore, useStore } from "../kit/store";
import { CallError, call, newKey } from "./calls";
import { session } from "./session";

export interface Person {
  name: string;
  token: string;
}

const ROLE = "lead";
const keyOf = () => `longhouse.person.${session.get().workspace}`;
const store = makeStore<{ known: Record<string, Person | null> }>({ known: {} });

export function person(): Person | null {
  const key = keyOf();
  const { known } = store.get();
  if (!(key in known)) {
    const kept = localStorage.getItem(key);
    known[key] = kept ? (JSON.parse(kept) as Person) : null;
  }
  return known[key] ?? null;
}

export function usePerson(): Person | null {
  useStore(store);
  useStore(session);
  return person();
}

/** Register a name, or continue under one that this person already has. */
export async function introduce(asked: string): Promise<Person> {
  const name = asked
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  const key = newKey();
  let token: string;
  try {
    const made = await call("agents.register", {
      name,
      role: ROLE,
      kind: "person",
      display_name: asked.trim(),
      idempotency_key: key,
    });
    token = made.agent_token;
  } catch (error) {
    if (!(error instanceof CallError) || error.code !== "DUPLICATE_AGENT_ID") throw error;
    const before = await call("agents.show", { agent: name });
    if (before.agent.kind !== "person") throw error;
    const again = await call("agents.adopt", {
      agent: name,
      interactive: true,
      confirm: true,
      idempotency_key: newKey(),
    });
    token = again.agent_token;
  }
  const found = { name, token };
  localStorage.setItem(keyOf(), JSON.stringify(found));
  store.set({ known: { ...store.get().known, [keyOf()]: found } });
  return found;
}

// Who signs out is forgotten here; a token that has ended says nothing about the person.
let state = session.get().state;
session.watch(() => {
  const { state: now, why } = session.get();
  if (state === "signed-in" && now === "signed-out" && !why) forgetPerson();
  state = now;
});

export function forgetPerson(): void {
  localStorage.removeItem(keyOf());
  store.set({ known: { ...store.get().known, [keyOf()]: null } });
}
