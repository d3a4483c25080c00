// Unified diffs: which lines changed, and which stand side by side.
import { expect, test } from "vitest";
import { linesOf, pairsOf } from "../src/views/jobs/diff";

const sorts = (text: string) => linesOf(text).map((line) => line.sort);
const sides = (text: string) =>
  pairsOf(linesOf(text)).map((pair) => [pair.before?.text ?? null, pair.after?.text ?? null]);

const CHANGED = `diff --git a/x.sql b/x.sql
--- a/x.sql
+++ b/x.sql
@@ -1,4 +1,4 @@
 SELECT 1;
--- old = 1
-second
++++ new = 1
+third
 SELECT 2;
`;

test("only hunks hold changes: inside one, a line that looks like a header is a change", () => {
  expect(sorts(CHANGED)).toEqual([
    ...["head", "head", "head", "place", "same"],
    ...["removed", "removed", "added", "added", "same"],
  ]);
});

test("each removed line stands beside the line added in its place", () => {
  expect(sides(CHANGED).slice(4)).toEqual([
    [" SELECT 1;", " SELECT 1;"],
    ["--- old = 1", "++++ new = 1"],
    ["-second", "+third"],
    [" SELECT 2;", " SELECT 2;"],
  ]);
});

test("a missing newline is told only on the side that lacks it", () => {
  const gone = "@@ -1 +1 @@\n-old\n\\ No newline at end of file\n+new\n";
  expect(sides(gone).slice(1)).toEqual([
    ["-old", "+new"],
    ["\\ No newline at end of file", null],
  ]);
  const added = "@@ -1 +1 @@\n-third\n+fourth\n\\ No newline at end of file\n";
  expect(sides(added).slice(1)).toEqual([
    ["-third", "+fourth"],
    [null, "\\ No newline at end of file"],
  ]);
});

test("more lines on one side leave the other empty", () => {
  expect(sides("@@ -1,3 +1,1 @@\n-a\n-b\n-c\n+d\n").slice(1)).toEqual([
    ["-a", "+d"],
    ["-b", null],
    ["-c", null],
  ]);
});

test("two changes in a row do not pair across what was added", () => {
  expect(sides("@@ -1,3 +1,2 @@\n-a\n-b\n+c\n-d\n+e\n").slice(1)).toEqual([
    ["-a", "+c"],
    ["-b", null],
    ["-d", "+e"],
  ]);
});

test("a new file's mode, a rename and a binary file are headers", () => {
  const text = "diff --git a/a b/b\nnew file mode 100644\nsimilarity index 90%\nrename from a\n";
  expect(sorts(`${text}Binary files a and b differ`)).toEqual(Array(5).fill("head"));
});

test("a hunk header without counts means one line", () => {
  expect(sorts("@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n")).toEqual([
    ...["place", "removed", "added", "head", "head"],
  ]);
});
