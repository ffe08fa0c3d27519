/**
 * The rules of prose that a program can check. Pure: `prose_test.ts` applies them to comments,
 * pages and help texts.
 */

export const LINE_WIDTH_MAX = 100;

/** A sentence has fewer words than this. */
export const SENTENCE_WORDS = 30;

/** Beginnings that leave a reader without a subject: of a comment, and of any sentence. */
const HEADLESS = /^(?:Of|As|Those|The same)\b/;
const INVERTED = /^Of\b/;

export interface Prose {
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

/** Why this is no plain English, one reason a fault. */
export function proseFaults(text: string): string[] {
  const sentences = sentencesOf(text);
  const long = sentences.filter((sentence) => wordsOf(sentence) >= SENTENCE_WORDS);
  return [
    ...(HEADLESS.test(text) ? [`it begins with "${HEADLESS.exec(text)?.[0]}"`] : []),
    ...sentences.slice(1).flatMap((sentence) =>
      INVERTED.test(sentence) ? [`a sentence begins with "Of": ${sentence}`] : []
    ),
    ...(/\bthe SQL engine\b/i.test(text) ? [`"the SQL engine" is DuckDB`] : []),
    ...long.map((sentence) => `a sentence has ${wordsOf(sentence)} words: ${sentence}`),
  ];
}

/**
 * Comments of TypeScript that have lines of their own, or stand behind code. Lines of `//` one
 * below the other are one comment; a tag of JSDoc begins another.
 */
export function commentsOf(source: string): Prose[] {
  const comments: Prose[] = [];
  let open: { line: number; words: string[]; kind: "block" | "line" } | undefined;
  const close = () => {
    if (open && open.words.some((word) => word !== "")) {
      comments.push(...paragraphs(open.words, open.line));
    }
    open = undefined;
  };
  for (const [at, line] of source.split("\n").entries()) {
    if (open?.kind === "block") {
      const ends = line.includes("*/");
      open.words.push(line.replace(/\*\/.*$/, "").replace(/^\s*\*? ?/, "").trimEnd());
      if (ends) close();
      continue;
    }
    const text = /^\s*\/\/ ?(.*)$/.exec(line)?.[1];
    if (text !== undefined) {
      if (/^(?:deno|biome|eslint|@ts)-|^[#/]/.test(text)) close();
      else if (open) open.words.push(text);
      else open = { line: at + 1, words: [text], kind: "line" };
      continue;
    }
    close();
    const block = /^\s*\/\*\*? ?(.*)$/.exec(line)?.[1];
    if (block !== undefined) {
      open = { line: at + 1, words: [block.replace(/\*\/.*$/, "").trimEnd()], kind: "block" };
      if (block.includes("*/")) close();
      continue;
    }
    const behind = /[;,{}()\]]\s+\/\/ (\w.*)$/.exec(line)?.[1];
    if (behind !== undefined) comments.push({ line: at + 1, text: behind });
  }
  close();
  return comments;
}

/** Paragraphs and list items of a page, without tables, code, headings and front matter. */
export function proseOfPage(page: string): Prose[] {
  return paragraphs(withoutTags(withoutFences(page.split("\n"))), 1);
}

/** Lines of a page that are wider than the limit and could be broken. */
export function wideLinesOfPage(page: string): number[] {
  return withoutTags(withoutFences(page.split("\n"))).flatMap((line, at) =>
    isTooWide(line) && !isTableRow(line) ? [at + 1] : []
  );
}

/** Lines of comments that are too wide. */
export function wideComments(source: string): number[] {
  return source.split("\n").flatMap((line, at) =>
    isTooWide(line) && /^\s*(?:\*|\/\/|\/\*)/.test(line) ? [at + 1] : []
  );
}

/** A line of one unbroken word, such as an address, is as wide as it must be. */
function isTooWide(line: string): boolean {
  const words = line.trim().replace(/^(?:\*|\/\/|-|>)\s+/, "");
  return line.length > LINE_WIDTH_MAX && /\s/.test(words);
}

function isTableRow(line: string): boolean {
  return /^\s*\|/.test(line);
}

/** The lines with those of code in fences emptied, so that numbers stay. */
function withoutFences(lines: readonly string[]): string[] {
  let inside = false;
  return lines.map((line) => {
    const fence = /^\s*(?:>\s*)?```/.test(line);
    if (fence) inside = !inside;
    return inside || fence ? "" : line;
  });
}

/** The lines with those of tags alone emptied: pictures of README.md. */
function withoutTags(lines: readonly string[]): string[] {
  return lines.map((line) => /^\s*<\/?(?:p|picture|source|img)\b.*>$/.test(line) ? "" : line);
}

/** Runs of lines of text. An empty line, a list's mark, a tag or a table ends one. */
function paragraphs(lines: readonly string[], first: number): Prose[] {
  const found: Prose[] = [];
  let begun: { line: number; text: string } | undefined;
  let fenced = false;
  for (const [at, line] of lines.entries()) {
    if (/^\s*```/.test(line)) fenced = !fenced;
    const text = line.replace(/^\s*(?:>\s*)?/, "");
    const mark = /^(?:[-*+]|\d+\.|@\w+(?:\s+\{[^}]*\})?)\s+/.exec(text)?.[0];
    const isCode = fenced || /^(?:```|\||#|<!--)/.test(text) || /^\s{4,}/.test(line) && !begun;
    if (text === "" || isCode || mark !== undefined) {
      if (begun) found.push(begun);
      begun = undefined;
      if (text === "" || isCode) continue;
    }
    if (begun) begun = { ...begun, text: `${begun.text} ${text}` };
    else begun = { line: first + at, text: text.slice(mark?.length ?? 0) };
  }
  if (begun) found.push(begun);
  return found;
}

/** Code in backticks and the address of a link count as one word. */
function plain(text: string): string {
  return text
    .replace(/`[^`]*`/g, "code")
    .replace(/\]\([^)]*\)/g, "]")
    .replace(/[*_]{1,2}(?=\w)|(?<=[\w.,:!?)])[*_]{1,2}/g, "");
}

function sentencesOf(text: string): string[] {
  return plain(text).split(/(?<=[.?!]["')\]]*)\s+(?=["'(\[]*(?:[A-Z0-9]|code))/);
}

function wordsOf(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}
