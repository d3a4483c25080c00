// A small synchronous store that components can subscribe to.
import { useSyncExternalStore } from "react";

export interface Store<T> {
  get(): T;
  set(change: Partial<T>): void;
  watch(listener: () => void): () => void;
}

export function makeStore<T extends object>(first: T): Store<T> {
  let value = first;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(change) {
      value = { ...value, ...change };
      for (const listener of listeners) listener();
    },
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useStore<T extends object>(store: Store<T>): T {
  return useSyncExternalStore(store.watch, store.get);
}
