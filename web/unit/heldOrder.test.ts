// The order of cards while somebody works in one.
import { expect, test } from "vitest";
import { inHeldOrder } from "../src/views/now/heldOrder";

const items = (...ids: string[]) => ids.map((id) => ({ id }));
const ids = (found: { id: string }[]) => found.map(({ id }) => id);

test("what was shown keeps its place, and what is new follows", () => {
  expect(ids(inHeldOrder(items("d", "c", "b", "a"), ["a", "b", "c"]))).toEqual([
    "a",
    "b",
    "c",
    "d",
  ]);
});

test("what is gone leaves no gap", () => {
  expect(ids(inHeldOrder(items("c", "a"), ["a", "b", "c"]))).toEqual(["a", "c"]);
});
