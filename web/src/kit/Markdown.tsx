// Renders untrusted Markdown as React elements. Nothing here writes HTML: tags are shown as text,
// images as links, and links may only point to the web, an email address or within the page.
import { marked, type Token, type Tokens } from "marked";
import { Fragment, type ReactNode } from "react";
import styles from "./markdown.module.css";
import { Link, Ref } from "./parts";
import { MENTION } from "./refs";

const MOST = 60_000;

export default function Markdown({ text }: { text: string }) {
  const tokens = marked.lexer(text.slice(0, MOST), { gfm: true, breaks: true });
  return <div className={styles.text}>{blocks(tokens)}</div>;
}

function blocks(tokens: Token[]): ReactNode {
  return tokens.map((token, index) => <Fragment key={`${index}`}>{block(token)}</Fragment>);
}

function block(token: Token): ReactNode {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return <p className={styles.heading}>{inline(token.tokens)}</p>;
    case "paragraph":
      return <p>{inline(token.tokens)}</p>;
    case "code":
      return (
        <pre>
          <code>{token.text}</code>
        </pre>
      );
    case "blockquote":
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case "list":
      return list(token as Tokens.List);
    case "table":
      return table(token as Tokens.Table);
    case "hr":
      return <hr />;
    case "text":
      return token.tokens ? <p>{inline(token.tokens)}</p> : <p>{plain(token.text)}</p>;
    default:
      return <p>{token.raw}</p>;
  }
}

function list(token: Tokens.List): ReactNode {
  const items = token.items.map((item, index) => (
    <li key={`${index}`}>
      {item.task && <span aria-hidden="true">{item.checked ? "☑ " : "☐ "}</span>}
      {item.tokens.map((one, at) => (
        <Fragment key={`${at}`}>
          {one.type === "text" ? inline(one.tokens ?? [one]) : block(one)}
        </Fragment>
      ))}
    </li>
  ));
  return token.ordered ? <ol start={Number(token.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function table(token: Tokens.Table): ReactNode {
  return (
    <table>
      <thead>
        <tr>
          {token.header.map((cell, index) => (
            <th key={`${index}`}>{inline(cell.tokens)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {token.rows.map((row, index) => (
          <tr key={`${index}`}>
            {row.map((cell, at) => (
              <td key={`${at}`}>{inline(cell.tokens)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function inline(tokens: Token[] | undefined): ReactNode {
  return (tokens ?? []).map((token, index) => <Fragment key={`${index}`}>{span(token)}</Fragment>);
}

function span(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "link":
    case "image":
      return anchor(token.href, token.text || token.href);
    case "escape":
      return token.text;
    case "text":
      return token.tokens ? inline(token.tokens) : plain(token.text);
    default:
      return token.raw;
  }
}

function anchor(target: string, text: string): ReactNode {
  if (target.startsWith("/") && !target.startsWith("//")) return <Link href={target}>{text}</Link>;
  if (!/^(https?:\/\/|mailto:)/i.test(target)) return `${text} (${target})`;
  return (
    <a href={target} rel="noopener noreferrer nofollow" target="_blank">
      {text}
    </a>
  );
}

/** Plain text with each ref in it as a link. */
function plain(text: string): ReactNode {
  return text
    .split(MENTION)
    .map((part, index) => (index % 2 ? <Ref key={`${index}`} id={part} /> : part));
}
