// Parses ANSI escapes in a line of output. Colors and weight are kept; cursor movements make no sense
// in a list of lines and are dropped.

export interface Span {
  text: string;
  colour: number | undefined;
  bold: boolean;
  dim: boolean;
}

const ESC = String.raw`\u001b`;
const ESCAPES = String.raw`\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_=>78])`;
const CONTROLS = String.raw`[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f]`;
const ALL = new RegExp(`${ESCAPES}|${CONTROLS}`, "g");
const PARTS = new RegExp(`(${ESCAPES})`);
const BARE = new RegExp(CONTROLS, "g");
const COLOUR = new RegExp(`^${ESC}\\[([\\d;]*)m$`);

/** A line after its carriage returns: of a progress bar, only the last state remains. */
export function settled(line: string): string {
  const text = line.endsWith("\r") ? line.slice(0, -1) : line;
  return text.slice(text.lastIndexOf("\r") + 1);
}

export function plain(line: string): string {
  return settled(line).replace(ALL, "");
}

export function spans(line: string): Span[] {
  const found: Span[] = [];
  let style: Omit<Span, "text"> = { colour: undefined, bold: false, dim: false };
  for (const part of settled(line).split(PARTS)) {
    const code = COLOUR.exec(part);
    if (code) style = styled(style, (code[1] || "0").split(";").map(Number));
    else if (!part.startsWith("\u001b") && part) {
      found.push({ text: part.replace(BARE, ""), ...style });
    }
  }
  return found;
}

function styled(style: Omit<Span, "text">, codes: number[]): Omit<Span, "text"> {
  let { colour, bold, dim } = style;
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 0) {
      colour = undefined;
      bold = false;
      dim = false;
    } else if (code === 1) bold = true;
    else if (code === 2) dim = true;
    else if (code === 22) {
      bold = false;
      dim = false;
    } else if (code === 39) colour = undefined;
    else if (code >= 30 && code <= 37) colour = code - 30;
    else if (code >= 90 && code <= 97) colour = code - 90;
    else if (code === 38 || code === 48) {
      const wide = codes[at + 1] === 5 ? 2 : 4;
      if (code === 38 && wide === 2 && (codes[at + 2] ?? 16) < 16) {
        colour = (codes[at + 2] ?? 0) % 8;
      }
      at += wide;
    }
  }
  return { colour, bold, dim };
}
