/**
 * What `->` and `->>` take out of. DuckDB's parser lets them bind more loosely than AND: it reads
 * `a AND b->>'x' = 'y'` as `((a AND b)->>'x') = 'y'`, which fails or is never true, and `b->'x' =
 * 'y'` as `b->('x' = 'y')`. Here they bind as in PostgreSQL, and as in DuckDB 2: more tightly than
 * comparisons, LIKE, IN, BETWEEN, IS, NOT, AND and OR. So such a chain of arrows is put in
 * parentheses before the statement is parsed. The tree does not tell what stood in parentheses.
 *
 * `->` with anything but a constant behind it is the arrow of a lambda. So may be one that an
 * argument of a call begins with. What a lambda gives is put in parentheses, too: DuckDB cannot
 * read `x -> x->>'k'`.
 */

import { textOf, utf8 } from "../../base/bytes.ts";
import { lowerBound } from "../../base/lower_bound.ts";
import { STATEMENT_LENGTH_MAX } from "../limits.ts";
import { parse, type Statement } from "./parse.ts";
import { type SqlToken, sqlTokens } from "./sql_tokens.ts";
import type { CachedConnection } from "./statement_cache.ts";
import { cloneTree, type TreeNode, walk } from "./syntax_tree.ts";

/** Parses what a caller sent. Errors: those of `parse`. */
export async function parseSent(
  cached: Pick<CachedConnection, "serialize">,
  sql: string,
): Promise<Statement> {
  const serialize = (text: string) => cached.serialize(text);
  const added = parenthesesOf(sql);
  if (added.length === 0) return await parse(serialize, sql);
  let parsed: Statement;
  try {
    parsed = await parse(serialize, withParentheses(sql, added));
  } catch {
    // The error's place is to be one in what was sent.
    return await parse(serialize, sql);
  }
  const { document, ...statement } = parsed;
  const places = bytePlaces(sql, added);
  walk(document, (node) => moveBack(node, places));
  const sent = textWithout(statement.sql, places);
  return { ...statement, document, sent, writtenOf: cloneTree(document) };
}

interface Parenthesis {
  readonly text: "(" | ")";
  /** Before this character of what was sent. */
  readonly at: number;
}

function withParentheses(sql: string, added: readonly Parenthesis[]): string {
  const ends = [0, ...added.map(({ at }) => at), sql.length];
  return added.map(({ text }, n) => sql.slice(ends[n], ends[n + 1]) + text).join("") +
    sql.slice(ends.at(-2));
}

/** The bytes of the new text that were added. */
function bytePlaces(sql: string, added: readonly Parenthesis[]): Float64Array {
  let [from, bytes] = [0, 0];
  return Float64Array.from(added, ({ at }, before) => {
    bytes += utf8(sql.slice(from, at)).length;
    from = at;
    return bytes + before;
  });
}

function moveBack(node: TreeNode, places: Float64Array): void {
  const location = node["query_location"];
  if (typeof location !== "number") return;
  node["query_location"] = location - lowerBound(places, location);
}

function textWithout(text: string, places: Float64Array): string {
  const left = new Set(places);
  return textOf(utf8(text).filter((_, at) => !left.has(at)));
}

/** Parentheses around the chains of arrows that need some, in the order of the text. */
function parenthesesOf(sql: string): readonly Parenthesis[] {
  if (!sql.includes("->") || sql.length > STATEMENT_LENGTH_MAX) return [];
  const tokens = sqlTokens(sql);
  // DuckDB reads comments within comments, which these tokens are not cut by.
  if (tokens.some(({ text, isBlank }) => isBlank && text.lastIndexOf("/*") > 0)) return [];
  const text = new ArrowText(tokens.filter(({ isBlank }) => !isBlank));
  const added: Parenthesis[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const chain = text.chainAt(at);
    if (chain === undefined) continue;
    at = chain.end - 1;
    if (!text.isMisread(chain)) continue;
    added.push({ text: "(", at: text.startOf(chain.start) });
    added.push({ text: ")", at: text.endOf(chain.end - 1) });
  }
  // A chain within the brackets of another one.
  return added.toSorted((a, b) => a.at - b.at);
}

/** Arrows one after the other, from the first token of their left side to behind the last one. */
interface Chain {
  readonly start: number;
  readonly end: number;
  readonly arrows: readonly string[];
}

const WORD = /^[\w$"\x80-\uffff]/;
const NUMBER = /^\d/;
const CONSTANT = /^(?:'|[eE]'|\$|\?$|\d)/;
const SIGN = /^[-+*/<>=~!@#%^&|`?]$/;
/** Words that end no operand, and may stand before one. */
const KEYWORDS = new Set(
  ("AND OR NOT IN IS LIKE ILIKE GLOB SIMILAR TO BETWEEN ESCAPE SELECT DISTINCT ALL ANY SOME WHERE " +
    "HAVING QUALIFY ON USING WHEN THEN ELSE CASE END BY LIMIT OFFSET FROM VALUES RETURNING AS WITH " +
    "OVER FILTER GROUP ORDER EXISTS UNION INTERSECT EXCEPT WINDOW JOIN CROSS LATERAL COLLATE")
    .split(" "),
);
/** Operators that bind more loosely than arrows: what stands before a chain, what behind `->`. */
const LOOSE_WORDS = new Set("AND OR NOT IN IS LIKE ILIKE GLOB SIMILAR TO BETWEEN".split(" "));
const LOOSE_SIGNS = /^[<>=!]$/;

class ArrowText {
  readonly #tokens: readonly SqlToken[];
  /** By bracket: the one at its other end. */
  readonly #partner = new Map<number, number>();
  /** By token: the bracket that it stands in. */
  readonly #around: (number | undefined)[] = [];

  constructor(tokens: readonly SqlToken[]) {
    this.#tokens = tokens;
    const open: number[] = [];
    for (const [at, { text }] of tokens.entries()) {
      if (")]}".includes(text)) {
        const start = open.pop();
        if (start !== undefined) {
          this.#partner.set(start, at);
          this.#partner.set(at, start);
        }
      }
      this.#around.push(open.at(-1));
      if ("([{".includes(text)) open.push(at);
    }
  }

  get length(): number {
    return this.#tokens.length;
  }

  startOf(token: number): number {
    return this.#tokens[token]?.at ?? 0;
  }

  endOf(token: number): number {
    return this.startOf(token) + this.#text(token).length;
  }

  /** The chain whose first arrow begins at a token. */
  chainAt(first: number): Chain | undefined {
    const start = this.#arrowAt(first) === undefined ? undefined : this.#operandStart(first - 1);
    if (start === undefined) return undefined;
    const arrows: string[] = [];
    let end = first;
    for (;;) {
      const arrow = this.#arrowAt(end);
      if (arrow === undefined) break;
      const next = this.#memberEnd(end + arrow.length, arrow);
      if (next === undefined) break;
      arrows.push(arrow);
      end = next;
    }
    return arrows.length === 0 ? undefined : { start, end, arrows };
  }

  /** Whether DuckDB's parser takes what stands beside the chain for a part of it. */
  isMisread({ start, end, arrows }: Chain): boolean {
    const before = this.#arrowBefore(start);
    // DuckDB takes the arrow of a lambda for the first one of the chain that the lambda gives.
    if (before !== undefined) return this.#isLambda(before);
    if (this.#isLoose(start - 1)) return true;
    if (arrows.length > 1) return arrows.includes("->");
    return arrows[0] === "->" && this.#isLoose(end) && !this.#mayBeLambda(start);
  }

  #isLoose(token: number): boolean {
    return LOOSE_WORDS.has(this.#word(token)) ||
      LOOSE_SIGNS.test(this.#text(token)) ||
      this.#isDistinctFrom(token) ||
      (this.#text(token) === "|" && this.#text(token + 1) === "|");
  }

  /** Whether `IS DISTINCT FROM` or `IS NOT DISTINCT FROM` ends with a token. */
  #isDistinctFrom(token: number): boolean {
    return this.#word(token) === "FROM" && this.#word(token - 1) === "DISTINCT" &&
      /^(?:IS|NOT)$/.test(this.#word(token - 2));
  }

  /** The arrow that begins at a token: `->` is two of them. */
  #arrowAt(token: number): string | undefined {
    const isNext = (at: number) => this.startOf(at) === this.endOf(at - 1);
    if (this.#text(token) !== "-" || this.#text(token + 1) !== ">" || !isNext(token + 1)) {
      return undefined;
    }
    if (isNext(token) && SIGN.test(this.#text(token - 1))) return undefined;
    const isDouble = this.#text(token + 2) === ">" && isNext(token + 2);
    const behind = token + (isDouble ? 3 : 2);
    const isLonger = isNext(behind) && /^[*/<>=~!@#%^&|`]$/.test(this.#text(behind));
    return isLonger ? undefined : isDouble ? "->>" : "->";
  }

  /** The arrow that ends before a token. */
  #arrowBefore(token: number): number | undefined {
    if (this.#arrowAt(token - 2) === "->") return token - 2;
    return this.#arrowAt(token - 3) === "->>" ? token - 3 : undefined;
  }

  /** The first token of the operand that ends with a token; undefined: none that is known does. */
  #operandStart(last: number): number | undefined {
    let start = this.#primaryStart(last);
    while (start !== undefined && this.#text(start - 1) === ":" && this.#text(start - 2) === ":") {
      start = this.#primaryStart(start - 3);
    }
    return start;
  }

  #primaryStart(last: number): number | undefined {
    let end = last;
    while (this.#text(end) === ")" || this.#text(end) === "]") {
      const open = this.#partner.get(end);
      if (open === undefined) return undefined;
      if (this.#isName(open - 1)) return this.#nameStart(open - 1);
      const before = this.#text(open - 1);
      if (this.#text(end) === ")") return /^(?:over|filter)$/i.test(before) ? undefined : open;
      if (before !== ")" && before !== "]") return open;
      end = open - 1;
    }
    if (CONSTANT.test(this.#text(end))) return end;
    return this.#isName(end) ? this.#nameStart(end) : undefined;
  }

  #nameStart(last: number): number {
    let start = last;
    while (this.#text(start - 1) === "." && this.#isName(start - 2)) start -= 2;
    return start;
  }

  #isName(token: number): boolean {
    const text = this.#text(token);
    return WORD.test(text) && !NUMBER.test(text) && !KEYWORDS.has(this.#word(token));
  }

  /** Behind the member that an arrow takes; undefined: none that is known begins here. */
  #memberEnd(first: number, arrow: string): number | undefined {
    const isNegative = this.#text(first) === "-" && NUMBER.test(this.#text(first + 1));
    const at = isNegative ? first + 1 : first;
    if (CONSTANT.test(this.#text(at))) return this.#castEnd(at + 1);
    if (arrow === "->") return undefined;
    if (this.#text(at) === "(" || this.#text(at) === "[") {
      const close = this.#partner.get(at);
      return close === undefined ? undefined : this.#castEnd(close + 1);
    }
    if (!this.#isName(at)) return undefined;
    let end = at + 1;
    while (this.#text(end) === "." && this.#isName(end + 1)) end += 2;
    const close = this.#text(end) === "(" ? this.#partner.get(end) : end - 1;
    return close === undefined ? undefined : this.#castEnd(close + 1);
  }

  /** Behind casts and subscripts, which bind most tightly. */
  #castEnd(from: number): number {
    let end = from;
    for (;;) {
      const isCast = this.#text(end) === ":" && this.#text(end + 1) === ":";
      const next = isCast ? end + 3 : end;
      const isBracket = this.#text(next) === "[" || (isCast && this.#text(next) === "(");
      const close = isBracket ? this.#partner.get(next) : undefined;
      const behind = close === undefined ? next : close + 1;
      if (behind === end) return end;
      end = behind;
    }
  }

  #isLambda(arrow: number): boolean {
    const start = this.#arrowAt(arrow) === "->" ? this.#operandStart(arrow - 1) : undefined;
    return start !== undefined && this.#mayBeLambda(start);
  }

  /** Whether an argument of a call begins with this token, and an arrow stands behind it. */
  #mayBeLambda(start: number): boolean {
    const around = this.#around[start];
    return around !== undefined && this.#isName(around - 1) &&
      (start - 1 === around || this.#text(start - 1) === ",");
  }

  #text(token: number): string {
    return this.#tokens[token]?.text ?? "";
  }

  #word(token: number): string {
    return this.#text(token).toUpperCase();
  }
}
