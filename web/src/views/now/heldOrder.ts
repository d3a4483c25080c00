// The order of cards: by rank, but held still while the user works in one of them.
import { useRef } from "react";

/** The items in the order they had before; new ones follow. */
export function inHeldOrder<T extends { id: string }>(
  items: readonly T[],
  before: readonly string[],
): T[] {
  const places = new Map(before.map((id, place) => [id, place]));
  const placeOf = (item: T) => places.get(item.id) ?? before.length;
  return [...items].sort((a, b) => placeOf(a) - placeOf(b));
}

/** The items in their own order or, while held, in the order that they were last shown in. */
export function useHeldOrder<T extends { id: string }>(items: readonly T[], held: boolean): T[] {
  const order = useRef<string[]>([]);
  const shown = held ? inHeldOrder(items, order.current) : [...items];
  order.current = shown.map((item) => item.id);
  return shown;
}
