/** Where in a statement an error is, as its message tells. */

/** Places in the statement; `to` is not included. */
export interface ErrorSpan {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the place that a message tells: ` at line 2, column 7`, or DuckDB's quoted line with a
 * caret below. Undefined where it tells none, or one outside the statement.
 */
export function errorSpan(message: string, sql: string): ErrorSpan | undefined {
  const place = namedPlace(message) ?? caretPlace(message, sql);
  if (place === undefined) return undefined;
  const line = sql.split("\n")[place.line - 1];
  if (line === undefined || place.column < 0 || place.column > line.length) return undefined;
  const from = offsetOfLine(sql, place.line) + place.column;
  return from >= sql.length ? lastToken(sql) : { from, to: endOfToken(sql, from) };
}

/** The message without the line that it quotes: the editor shows the place itself. */
export function withoutQuote(message: string): string {
  return message.replace(/\n+LINE \d+:[^]*$/, "");
}

/** `line` counts from one, `column` from zero. */
interface Place {
  readonly line: number;
  readonly column: number;
}

function namedPlace(message: string): Place | undefined {
  const [, line, column] = /\bat line (\d+), column (\d+)/.exec(message) ?? [];
  if (line === undefined || column === undefined) return undefined;
  return { line: Number(line), column: Number(column) - 1 };
}

/** A long line is cut at both ends; what is left of it is looked up in the statement. */
function caretPlace(message: string, sql: string): Place | undefined {
  const groups = /^(?<head>LINE (?<number>\d+): )(?<quoted>.*)\n(?<blanks> *)\^/m.exec(message)
    ?.groups;
  const { head = "", number, quoted = "", blanks = "" } = groups ?? {};
  if (number === undefined) return undefined;
  const line = Number(number);
  const text = sql.split("\n")[line - 1] ?? "";
  const isCut = quoted.startsWith("...");
  const excerpt = quoted.replace(/^\.{3}/, "").replace(/\.{3}$/, "");
  const begin = text.startsWith(quoted) ? 0 : text.indexOf(excerpt);
  if (begin < 0) return undefined;
  const cut = isCut && begin > 0 ? 3 : 0;
  const within = offsetOfWidth(quoted, blanks.length - head.length) - cut;
  return { line, column: begin + within };
}

/** Letters that a terminal shows two columns wide, as DuckDB counts. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff01-\uff60\p{Emoji_Presentation}]/u;
const NO_WIDTH = /\p{Mark}/u;

function offsetOfWidth(text: string, width: number): number {
  let offset = 0;
  let seen = 0;
  for (const letter of text) {
    if (seen >= width) break;
    seen += WIDE.test(letter) ? 2 : NO_WIDTH.test(letter) ? 0 : 1;
    offset += letter.length;
  }
  return offset;
}

function offsetOfLine(sql: string, line: number): number {
  let at = 0;
  for (let n = 1; n < line; n += 1) at = sql.indexOf("\n", at) + 1;
  return at;
}

/** A word is marked whole, anything else by one letter. */
function endOfToken(sql: string, from: number): number {
  const [word = ""] = /^(?:[\p{L}_][\p{L}\p{N}_]*|"[^"\n]*"|'[^'\n]*')/u.exec(sql.slice(from)) ??
    [];
  return from + Math.max(1, word.length);
}

/** What ends too early is marked at its last word. */
function lastToken(sql: string): ErrorSpan | undefined {
  const text = sql.trimEnd();
  const [word = ""] = /(?:[\p{L}\p{N}_]+|[^])$/u.exec(text) ?? [];
  return text === "" ? undefined : { from: text.length - word.length, to: text.length };
}
