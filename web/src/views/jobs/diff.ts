// Parses a unified diff into lines, and into pairs for the side-by-side layout.

export type Sort = "added" | "removed" | "place" | "head" | "same";

export interface Line {
  sort: Sort;
  text: string;
}

/** A line before and after; a row that spans both sides has the same line twice. */
export interface Pair {
  before: Line | null;
  after: Line | null;
}

const HEAD =
  /^(diff |index |Index: |=+$|(new|deleted) file mode |(old|new) mode |similarity |rename |copy |Binary files |GIT binary )/;

/** Each line with its sort. Only hunks hold changes: inside one, `--- x` is a removed line. */
export function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  let [before, after] = [0, 0];
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    // "\ No newline at end of file" belongs to the line above it, on the same side.
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

/** The sort of a line outside a hunk, or past the end that a wrong hunk header gives. */
function headOf(line: string): Sort {
  return HEAD.test(line) || /^(--- |\+\+\+ )/.test(line) ? "head" : changeOf(line);
}

/** The lines side by side: each removed line next to the line added in its place. */
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
