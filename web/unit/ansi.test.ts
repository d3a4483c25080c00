// Escape sequences in a line of output: colors are kept, everything else is dropped.
import { expect, test } from "vitest";
import { plain, settled, spans } from "../src/views/processes/ansi";

const ESC = "\u001b";

test("a progress bar shows its last state", () => {
  expect(settled("10 %\r20 %\r30 %")).toBe("30 %");
  expect(settled("done\r")).toBe("done");
});

test.each([
  ["a color", `${ESC}[31mred${ESC}[0m`, "red"],
  ["a cursor movement", `a${ESC}[2Kb${ESC}[1;1Hc`, "abc"],
  ["a window title", `${ESC}]0;owned\u0007text`, "text"],
  ["a title that ends with ST", `${ESC}]0;owned${ESC}\\text`, "text"],
  ["a title that never ends", `text${ESC}]0;owned`, "text"],
  ["control characters", "a\u0000b\u0008c\u007f", "abc"],
  ["a lone escape and its letter", `a${ESC}Mb`, "ab"],
])("plain text has no trace of %s", (_what, line, text) => {
  expect(plain(line)).toBe(text);
});

const styled = (line: string) => spans(line).map(({ text, ...style }) => [text, style]);
const none = { colour: undefined, bold: false, dim: false };

test("a color lasts until it is reset", () => {
  expect(styled(`a${ESC}[31mb${ESC}[mc`)).toEqual([
    ["a", none],
    ["b", { ...none, colour: 1 }],
    ["c", none],
  ]);
});

test("bold, dim and bright colors", () => {
  expect(styled(`${ESC}[1;2;92mx${ESC}[22;39my`)).toEqual([
    ["x", { colour: 2, bold: true, dim: true }],
    ["y", none],
  ]);
});

test("of the 256 colors the first sixteen are kept, and longer codes are skipped whole", () => {
  expect(styled(`${ESC}[38;5;12mx`)).toEqual([["x", { ...none, colour: 4 }]]);
  expect(styled(`${ESC}[38;5;200mx`)).toEqual([["x", none]]);
  expect(styled(`${ESC}[38;2;1;31;3mx`)).toEqual([["x", none]]);
  expect(styled(`${ESC}[48;5;1;31mx`)).toEqual([["x", { ...none, colour: 1 }]]);
});
