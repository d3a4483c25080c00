// A terminal on the page: xterm.js, loaded when a process has a terminal. It shows output and takes
// keys. Its own replies to terminal queries are dropped, because the host answers them.
import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { Unicode11Addon } from "@xterm/addon-unicode11";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";

export interface Size {
  rows: number;
  cols: number;
}

export interface Hands {
  keys: (typed: Uint8Array) => void;
  /** The keyboard is released: by a key, or because the focus moved elsewhere. */
  leave: (byKey: boolean) => void;
}

const FONT_PX = 14;
const SMALLEST_PX = 6;
const SCROLLBACK = 10_000;
/** Pressed with Ctrl. Both send the same code; Ctrl ] cannot be typed where `]` needs AltGr. */
const WAYS_OUT = ["]", "5"];
const THEME = {
  background: "#171513",
  foreground: "#f0eae2",
  cursor: "#f2a27c",
  selectionBackground: "#5a4636",
  black: "#37312b",
  red: "#ff8a80",
  green: "#86d3a0",
  yellow: "#e8be69",
  blue: "#98c7f6",
  magenta: "#e3a8e8",
  cyan: "#84d6d6",
  white: "#d9d2c8",
  brightBlack: "#9a9084",
  brightRed: "#ffa59b",
  brightGreen: "#a5e5ba",
  brightYellow: "#f5d48e",
  brightBlue: "#b7d9fb",
  brightMagenta: "#efc3f2",
  brightCyan: "#a6e7e7",
  brightWhite: "#ffffff",
};

export class Emulator {
  private readonly terminal: Terminal;
  private readonly fitting = new FitAddon();
  private readonly searching = new SearchAddon();

  constructor(
    private readonly parent: HTMLElement,
    size: Size,
    hands: Hands,
  ) {
    this.terminal = new Terminal({
      ...size,
      theme: THEME,
      fontFamily: getComputedStyle(parent).fontFamily,
      fontSize: FONT_PX,
      scrollback: SCROLLBACK,
      minimumContrastRatio: 4.5,
      disableStdin: true,
      allowProposedApi: true,
      cursorInactiveStyle: "outline",
    });
    this.terminal.loadAddon(this.fitting);
    this.terminal.loadAddon(this.searching);
    this.terminal.loadAddon(new Unicode11Addon());
    this.terminal.unicode.activeVersion = "11";
    keepSilent(this.terminal);
    this.terminal.onData((text) => hands.keys(new TextEncoder().encode(text)));
    this.terminal.onBinary((text) => hands.keys(Uint8Array.from(text, (c) => c.charCodeAt(0))));
    this.terminal.attachCustomKeyEventHandler((event) => this.passes(event, hands));
    openLawfully(this.terminal, parent);
    this.terminal.textarea?.setAttribute("tabindex", "-1");
    this.terminal.textarea?.addEventListener("blur", () => {
      // Switching to another window keeps the keyboard.
      if (document.hasFocus()) hands.leave(false);
    });
    this.scale();
  }

  /** Show a program's output; resolves once it is shown. */
  write(data: string | Uint8Array): Promise<void> {
    return new Promise((done) => this.terminal.write(data, done));
  }

  reset(size: Size): void {
    this.terminal.reset();
    this.resize(size);
  }

  resize({ rows, cols }: Size): void {
    this.terminal.resize(cols, rows);
    if (this.terminal.options.disableStdin) this.scale();
  }

  /** Take the keyboard and resize to the available space. */
  take(): Size | null {
    this.terminal.options.disableStdin = false;
    this.terminal.options.fontSize = FONT_PX;
    this.terminal.focus();
    return this.fit();
  }

  fit(): Size | null {
    const size = this.fitting.proposeDimensions();
    if (!size || !Number.isFinite(size.cols) || !Number.isFinite(size.rows)) return null;
    this.terminal.resize(size.cols, size.rows);
    return { rows: size.rows, cols: size.cols };
  }

  letGo(): void {
    this.terminal.options.disableStdin = true;
    this.terminal.blur();
    this.scale();
  }

  /** Without the keyboard, show the whole screen, in a smaller font if there is less space. */
  scale(): void {
    this.terminal.options.fontSize = FONT_PX;
    const room = this.fitting.proposeDimensions();
    if (!room || !Number.isFinite(room.cols)) return;
    const fits = Math.floor(((FONT_PX * room.cols) / this.terminal.cols) * 4) / 4;
    this.terminal.options.fontSize = Math.max(SMALLEST_PX, Math.min(FONT_PX, fits));
  }

  find(word: string, back: boolean): boolean {
    if (!word) {
      this.searching.clearDecorations();
      return false;
    }
    return back ? this.searching.findPrevious(word) : this.searching.findNext(word);
  }

  /** The screen and scrollback as plain text. */
  text(): string {
    const { active } = this.terminal.buffer;
    const lines: string[] = [];
    for (let row = 0; row < active.length; row += 1) {
      const line = active.getLine(row);
      const text = line?.translateToString(true) ?? "";
      if (line?.isWrapped && lines.length > 0) lines[lines.length - 1] += text;
      else lines.push(text);
    }
    return lines.join("\n").trimEnd();
  }

  dispose(): void {
    this.terminal.dispose();
    this.parent.replaceChildren();
  }

  /** Whether a key goes to the program: all do, except copy, paste and the release keys. */
  private passes(event: KeyboardEvent, hands: Hands): boolean {
    if (!event.ctrlKey || event.altKey || event.metaKey) return true;
    if (WAYS_OUT.includes(event.key)) {
      if (event.type === "keydown") hands.leave(true);
      event.preventDefault();
      return false;
    }
    if (event.key === "c" && this.terminal.hasSelection()) return false;
    return event.key !== "v";
  }
}

/** Swallow the terminal queries that xterm.js would answer. */
function keepSilent({ parser }: Terminal): void {
  const heard = () => true;
  for (const id of [
    { final: "c" },
    { prefix: ">", final: "c" },
    { prefix: "=", final: "c" },
    { final: "n" },
    { prefix: "?", final: "n" },
    { intermediates: "$", final: "p" },
    { prefix: "?", intermediates: "$", final: "p" },
    { prefix: ">", final: "q" },
    { prefix: "?", final: "u" },
    { final: "t" },
  ]) {
    parser.registerCsiHandler(id, heard);
  }
  parser.registerDcsHandler({ intermediates: "$", final: "q" }, heard);
  parser.registerDcsHandler({ intermediates: "+", final: "q" }, heard);
  for (const colour of [4, 5, 10, 11, 12]) {
    parser.registerOscHandler(colour, (data) => data.includes("?"));
  }
}

/** Open the terminal under the page's security policy, which allows style elements with its nonce and
 * styles set as properties, not as attributes. xterm.js has an option for neither, so this patches
 * its internals; its version is pinned. */
function openLawfully(terminal: Terminal, parent: HTMLElement): void {
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
  const own = document.createElement;
  document.createElement = ((name: string, options?: ElementCreationOptions) => {
    const made = own.call(document, name, options);
    if (made instanceof HTMLStyleElement) made.nonce = nonce;
    return made;
  }) as typeof document.createElement;
  try {
    terminal.open(parent);
  } finally {
    document.createElement = own;
  }
  const inside = terminal as unknown as Inside;
  inside._core._renderService._renderer.value._rowFactory._addStyle = (element, style) => {
    element.style.cssText += style;
  };
}

interface Inside {
  _core: {
    _renderService: {
      _renderer: {
        value: { _rowFactory: { _addStyle: (element: HTMLElement, style: string) => void } };
      };
    };
  };
}
