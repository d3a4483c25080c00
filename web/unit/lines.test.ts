// Output as lines: frames cut it anywhere, two streams interleave, and gaps are said.
import { beforeEach, expect, test, vi } from "vitest";
import type { Frame } from "../src/views/processes/frames";

type Follower = { take: (frames: Frame[]) => Promise<void>; over: () => void };

const world = vi.hoisted(() => ({
  follower: null as Follower | null,
  stored: [] as Frame[],
  output: "",
}));

vi.mock("../src/views/processes/frames", () => ({
  PAGE: 2,
  STREAM_OF: { tool_stdout: "stdout", tool_stderr: "stderr" },
  asCallError: (error: unknown) => error,
  followFrames: (_task: string, _after: number, follower: Follower) => {
    world.follower = follower;
    return () => undefined;
  },
  readFrames: async (_task: string, after: number, limit: number) => ({
    frames: world.stored.filter((one) => one.seq > after).slice(0, limit),
  }),
  readOutput: async (_task: string, _stream: string, from: number, end: number) => ({
    text: world.output.slice(from, end),
    from,
    to: end,
    gap: null,
    more: false,
  }),
}));

const { Lines } = await import("../src/views/processes/lines");

function frame(seq: number, chunk: string | null, type = "tool_stdout", bytes = 0): Frame {
  return {
    ...{ seq, type, chunk, bytes, timestamp_ms: seq, id: `PROC-001@${100 + seq}` },
    offset_bytes: 0,
  };
}

async function shown(frames: Frame[], past: number | null = null) {
  const lines = new Lines("PROC-001", 2, past);
  lines.watch(() => undefined);
  for (const one of frames) await world.follower?.take([one]);
  return lines;
}

const texts = (lines: InstanceType<typeof Lines>) => lines.lines.map((line) => line.text);

beforeEach(() => {
  world.stored = [];
  world.output = "";
});

test("a line that arrives in pieces is one line", async () => {
  expect(texts(await shown([frame(0, "Hel"), frame(1, "lo\nwor"), frame(2, "ld\n")]))).toEqual([
    ...["Hello", "world"],
  ]);
});

test("an empty line is a line; the end of the text is none", async () => {
  expect(texts(await shown([frame(0, "a\n\nb\n")]))).toEqual(["a", "", "b"]);
});

test("each stream goes on with its own line", async () => {
  const lines = await shown([
    ...[frame(0, "out"), frame(1, "err", "tool_stderr")],
    ...[frame(2, "put\n"), frame(3, "or\n", "tool_stderr")],
  ]);
  expect(lines.lines.map((line) => [line.stream, line.text])).toEqual([
    ["stdout", "output"],
    ["stderr", "error"],
  ]);
});

test("a carriage return at the end of a frame stays until the next one overwrites the line", async () => {
  expect(texts(await shown([frame(0, "10 %\r")]))).toEqual(["10 %\r"]);
  expect(texts(await shown([frame(0, "10 %\r"), frame(1, "20 %\r"), frame(2, "30 %")]))).toEqual([
    "30 %",
  ]);
});

test("a frame without its text is read from the stored output", async () => {
  world.output = "stored\n";
  expect(texts(await shown([frame(0, null, "tool_stdout", 7)]))).toEqual(["stored"]);
});

test("of a very long range the end is shown, and the rest is a gap that was kept", async () => {
  world.output = "x".repeat(70_000);
  const [gap, tail] = (await shown([frame(0, null, "tool_stdout", 70_000)])).lines;
  expect(gap?.missing).toEqual({ from: 0, to: 70_000 - 65_536, kept: true });
  expect(tail?.text).toHaveLength(65_536);
});

test("the past ends at its seq", async () => {
  expect(texts(await shown([frame(0, "then\n"), frame(9, "later\n")], 105))).toEqual(["then"]);
});

test("older frames come before, and lines that they began are whole", async () => {
  const lines = new Lines("PROC-001", 4, null);
  lines.watch(() => undefined);
  world.stored = [frame(0, "fir"), frame(1, "st\nsec"), frame(2, "ond\n"), frame(3, "third\n")];
  await world.follower?.take(world.stored.slice(2));
  expect(texts(lines)).toEqual(["ond", "third"]);
  await lines.older();
  expect(texts(lines)).toEqual(["first", "second", "third"]);
  expect(lines.first).toBe(0);
});
