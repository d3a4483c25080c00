// Scopes of reservations, as the server parses them.
import { expect, test } from "vitest";
import type { Reservation } from "../src/api/types";
import { inTheWay, overlapping, overlaps, scopeOf, treeOf } from "../src/views/files/scopes";

test.each([
  ["src/a.py", { path: "src/a.py", below: false }],
  ["./src//a.py/", { path: "src/a.py", below: false }],
  ["src/*", { path: "src", below: true }],
  ["src/**/", { path: "src", below: true }],
  ["*", { path: "", below: true }],
  ["src/../lib", { path: "lib", below: false }],
  ["src\\a.py", { path: "src/a.py", below: false }],
  ["src/*.py", null],
  ["a?c", null],
  ["  ", null],
])("%j names %j", (text, scope) => {
  expect(scopeOf(text)).toEqual(scope);
});

const scope = (text: string) => scopeOf(text) ?? { path: "?", below: false };

test.each([
  ["src", "src/a.py", true],
  ["src/a.py", "src", true],
  ["src", "srcs", false],
  ["*", "anything/at/all", true],
  ["src/a.py", "src/b.py", false],
])("%s and %s overlap: %s", (a, b, same) => {
  expect(overlaps(scope(a), scope(b))).toBe(same);
});

const NOW = Date.parse("2026-01-01T12:00:00Z");

function held(agent: string, where: string, more: Partial<Reservation> = {}): Reservation {
  const row = { reservation_id: `${agent} ${where}`, agent_id: agent, scope: where };
  const until = { mode: "exclusive", expires_at: "2026-01-01T13:00:00Z" };
  return { ...row, ...until, owner_liveness: "active", ...more } as Reservation;
}

const met = (all: Reservation[], mode: Reservation["mode"] = "exclusive") =>
  inTheWay(scope("src/a.py"), mode, "ada", all, NOW).map((one) => [one.held.agent_id, one.how]);

test("others' reservations are in the way, one's own are not", () => {
  expect(met([held("ada", "src/a.py"), held("linus", "src/*"), held("grace", "docs/*")])).toEqual([
    ["linus", "refused"],
  ]);
});

test("two who share are not in each other's way", () => {
  expect(met([held("linus", "src/*", { mode: "shared" })], "shared")).toEqual([]);
  expect(met([held("linus", "src/*", { mode: "shared" })])).toEqual([["linus", "refused"]]);
});

test("an expired or silent holder's reservation can be taken over", () => {
  expect(met([held("linus", "src/*", { expires_at: "2026-01-01T11:00:00Z" })])).toEqual([
    ["linus", "takeover"],
  ]);
  expect(met([held("linus", "src/*", { owner_liveness: "stale" })])).toEqual([
    ["linus", "takeover"],
  ]);
});

test("a chain of folders with nothing else in them is one folder", () => {
  const root = treeOf([held("ada", "src/views/jobs/a.ts"), held("linus", "src/views/now/b.ts")]);
  expect(root.inside.map((folder) => folder.name)).toEqual(["src/views"]);
  expect(root.inside[0]?.inside.map((folder) => folder.name)).toEqual(["jobs/a.ts", "now/b.ts"]);
});

test("agents that hold overlapping scopes are named to each other", () => {
  const found = overlapping([held("ada", "src/*"), held("linus", "src/a.py"), held("g", "docs")]);
  expect(Object.fromEntries(found)).toEqual({ "ada src/*": ["linus"], "linus src/a.py": ["ada"] });
});
