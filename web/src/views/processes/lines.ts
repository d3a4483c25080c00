// A process's newest output as lines, with both streams in the order they were written.
import type { CallError } from "../../api/calls";
import {
  asCallError,
  type Frame,
  followFrames,
  PAGE,
  readFrames,
  readOutput,
  STREAM_OF,
} from "./frames";
import type { Stream } from "./words";

export interface Line {
  id: number;
  stream: Stream;
  text: string;
  at: number;
  /** A gap instead of text: bytes that were not kept, or are not shown. */
  missing?: { from: number; to: number; kept: boolean };
}

interface Part {
  seq: number;
  stream: Stream;
  at: number;
  text: string;
  missing?: Line["missing"];
}

const MOST_LINES = 50_000;
const WINDOW = 65_536;

export class Lines {
  lines: Line[] = [];
  /** The first frame that is loaded. */
  first: number;
  busy = false;
  error: CallError | undefined;
  over = false;
  private parts: Part[] = [];
  private open: Partial<Record<Stream, Line>> = {};
  private count = 0;
  private version = 0;
  private listeners = new Set<() => void>();
  private stop: (() => void) | null = null;

  constructor(
    private readonly task: string,
    next: number,
    private readonly past: number | null,
  ) {
    this.first = Math.max(0, next - PAGE);
  }

  watch = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    this.stop ??= followFrames(this.task, this.parts.at(-1)?.seq ?? this.first - 1, {
      take: async (frames) => this.add(await this.partsOf(frames)),
      over: () => {
        this.over = true;
        this.tell();
      },
      error: (error) => {
        if (error === this.error) return;
        this.error = error;
        this.tell();
      },
    });
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size > 0) return;
      this.stop?.();
      this.stop = null;
    };
  };

  /** A version number that changes whenever the lines do. */
  seen = (): number => this.version;

  /** Read the page of frames before `first`. */
  async older(): Promise<void> {
    if (this.busy || this.first === 0) return;
    this.busy = true;
    this.tell();
    try {
      const from = Math.max(0, this.first - PAGE);
      const { frames } = await readFrames(this.task, from - 1, this.first - from);
      const before = await this.partsOf(frames);
      const known = this.parts;
      this.first = from;
      this.lines = [];
      this.open = {};
      this.parts = [];
      this.add([...before, ...known]);
    } catch (error) {
      this.error = asCallError(error);
    } finally {
      this.busy = false;
      this.tell();
    }
  }

  private async partsOf(frames: Frame[]): Promise<Part[]> {
    const parts: Part[] = [];
    for (const frame of frames) {
      const stream = STREAM_OF[frame.type];
      if (!stream || frame.offset_bytes === undefined) continue;
      if (this.past !== null && Number(frame.id.split("@")[1]) > this.past) continue;
      const base = { seq: frame.seq, stream, at: frame.timestamp_ms };
      if (typeof frame.chunk === "string") parts.push({ ...base, text: frame.chunk });
      else parts.push(...(await this.referred(base, frame.offset_bytes, frame.bytes ?? 0)));
    }
    return parts;
  }

  /** The end of a long range that its frame only refers to, preceded by the part left out. */
  private async referred(base: Omit<Part, "text">, begin: number, size: number): Promise<Part[]> {
    const end = begin + size;
    const found: Part[] = [];
    let from = Math.max(begin, end - WINDOW);
    if (from > begin) {
      found.push({ ...base, text: "", missing: { from: begin, to: from, kept: true } });
    }
    while (from < end) {
      const piece = await readOutput(this.task, base.stream, from, end);
      if (piece.text) found.push({ ...base, text: piece.text });
      if (piece.gap) found.push({ ...base, text: "", missing: { ...piece.gap, kept: false } });
      if (piece.to <= from) break;
      from = piece.to;
    }
    return found;
  }

  private add(parts: Part[]): void {
    if (parts.length === 0) return;
    this.parts.push(...parts);
    for (const part of parts) this.take(part);
    if (this.lines.length > MOST_LINES) {
      const stays = MOST_LINES / this.lines.length;
      this.lines = this.lines.slice(-MOST_LINES);
      this.parts = this.parts.slice(-Math.ceil(this.parts.length * stays));
      this.first = this.parts[0]?.seq ?? this.first;
    } else {
      this.lines = [...this.lines];
    }
    this.tell();
  }

  private take({ stream, at, text, missing }: Part): void {
    if (missing) {
      this.open[stream] = undefined;
      this.begin({ stream, at, text: "", missing });
      return;
    }
    const rows = text.split("\n");
    for (const [index, row] of rows.entries()) {
      const last = index === rows.length - 1;
      const known = this.open[stream];
      if (known) {
        const grown = { ...known, text: overwritten(known.text + row) };
        this.lines[this.lines.lastIndexOf(known)] = grown;
        this.open[stream] = grown;
      } else if (row || !last) {
        this.open[stream] = this.begin({ stream, at, text: overwritten(row) });
      }
      if (!last) this.open[stream] = undefined;
    }
  }

  private begin(line: Omit<Line, "id">): Line {
    this.count += 1;
    const made = { id: this.count, ...line };
    this.lines.push(made);
    return made;
  }

  private tell(): void {
    this.version += 1;
    for (const listener of this.listeners) listener();
  }
}

/** A line after its carriage returns. One at the very end stays: the next text overwrites the line. */
function overwritten(text: string): string {
  return text.slice(text.lastIndexOf("\r", text.length - 2) + 1);
}
