// A unified diff as rows: one under the other for a narrow screen, or what was beside what is.

export type Sort = "added" | "removed" | "place" | "head" | "same";

export interface Line {
  sort: Sort;
  text: string;
}

/** What stood in a line and what stands there now; a row over both sides has the same line twice. */
export interface Pair {
  before: Line | null;
  after: Line | null;
}

const HEAD =
  /^(diff |index |Index: |=+$|(new|deleted) file mode |(old|new) mode |similarity |rename |copy |Binary files |GIT binary )/;

/** Each line with its sort. Only a hunk holds changes: in it `--- x` is a line that was removed. */
export function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  let [before, after] = [0, 0];
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    // "\ No newline at end of file" is about the line above it, on the same side.
    const about = line.startsWith("\\") ? lines.at(-1) : undefined;
    const within = before > 0 || after > 0 ? changeOf : headOf;
    const sort = hunk ? "place" : (about?.sort ?? within(line));
    if (hunk) [before, after] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)];
    else if (!about) {
      if (sort !== "added") before -= 1;
      if (sort !== "removed") after -= 1;
    }
    lines.push({ sort, text: line });
  }
  return lines;
}

function changeOf(line: string): Sort {
  return line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same";
}

/** Outside of a hunk, or past the end that a careless one tells. */
function headOf(line: string): Sort {
  return HEAD.test(line) || /^(--- |\+\+\+ )/.test(line) ? "head" : changeOf(line);
}

/** The lines side by side: what was removed stands beside what was added in its place. */
export function pairsOf(lines: readonly Line[]): Pair[] {
  const pairs: Pair[] = [];
  let removed: Line[] = [];
  let added: Line[] = [];
  const settle = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) {
      pairs.push({ before: removed[at] ?? null, after: added[at] ?? null });
    }
    [removed, added] = [[], []];
  };
  for (const line of lines) {
    if (line.sort === "removed") {
      if (added.length > 0) settle();
      removed.push(line);
    } else if (line.sort === "added") {
      added.push(line);
    } else {
      settle();
      pairs.push({ before: line, after: line });
    }
  }
  settle();
  return pairs;
}
