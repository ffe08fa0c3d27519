/** Reads the text of a search into a tree. README.md has the language. */

import { SearchError, type SearchSpan } from "./search_error.ts";
import { type ScannedText, SearchScanner } from "./search_scanner.ts";
import {
  SEARCH_LIMITS,
  type SearchBound,
  type SearchField,
  type SearchMatch,
  type SearchNode,
  type SearchTerm,
} from "./search_syntax.ts";

/** Returns the search that `text` is. Errors: `SearchError`, with the place. */
export function parseSearch(text: string): SearchNode {
  const { lengthMax } = SEARCH_LIMITS;
  if (text.length > lengthMax) {
    throw new SearchError(
      `Cannot read a search of ${text.length} characters: at most ${lengthMax}; ask for less`,
      { start: lengthMax, end: text.length },
    );
  }
  const nul = text.indexOf("\0");
  if (nul >= 0) {
    const span = { start: nul, end: nul + 1 };
    throw new SearchError("Cannot look for the character U+0000: leave it out", span);
  }
  return new SearchParser(text.toWellFormed()).parse();
}

/** Two characters each come before the one that they begin with. */
const OPERATORS = ["<=", ">=", "<", ">"] as const;

class SearchParser {
  readonly #scanner: SearchScanner;
  #terms = 0;
  #depth = 0;

  constructor(text: string) {
    this.#scanner = new SearchScanner(text);
  }

  parse(): SearchNode {
    const scanner = this.#scanner;
    scanner.skipSpaces();
    if (scanner.isAtEnd()) return { kind: "all", span: { start: 0, end: scanner.at } };
    const node = this.#either(undefined);
    if (!scanner.isAtEnd()) {
      throw this.#errorAt(scanner.at, "Cannot find what this ) ends: leave it out");
    }
    return node;
  }

  #either(field: SearchField | undefined): SearchNode {
    const parts = [this.#both(field)];
    while (this.#scanner.takeKeyword("OR")) {
      this.#scanner.skipSpaces();
      parts.push(this.#both(field));
    }
    return groupOf("or", parts);
  }

  #both(field: SearchField | undefined): SearchNode {
    const scanner = this.#scanner;
    const parts = [this.#one(field)];
    while (!scanner.isAtEnd() && !scanner.sees(")")) {
      if (this.#seesKeyword("OR")) break;
      if (scanner.takeKeyword("AND")) scanner.skipSpaces();
      parts.push(this.#one(field));
    }
    return groupOf("and", parts);
  }

  #seesKeyword(keyword: string): boolean {
    const { at } = this.#scanner;
    const isThere = this.#scanner.takeKeyword(keyword);
    this.#scanner.at = at;
    return isThere;
  }

  /** A negation, a group or a term, and the spaces behind it. */
  #one(field: SearchField | undefined): SearchNode {
    this.#depth += 1;
    const start = this.#scanner.at;
    if (this.#depth > SEARCH_LIMITS.depthMax) {
      throw this.#errorAt(
        start,
        `Cannot read more than ${SEARCH_LIMITS.depthMax} groups and negations within each other`,
      );
    }
    const node = this.#negated(field) ?? this.#grouped(field) ?? this.#term(field);
    this.#scanner.skipSpaces();
    this.#depth -= 1;
    return node;
  }

  #negated(field: SearchField | undefined): SearchNode | undefined {
    const scanner = this.#scanner;
    const start = scanner.at;
    if (!scanner.takeKeyword("NOT")) {
      if (!scanner.take("-")) return undefined;
      if (scanner.isAtEnd() || /[\s-]/.test(scanner.text[scanner.at] ?? "")) {
        // A dash alone, and two of them, are words.
        scanner.at = start;
        return undefined;
      }
    }
    scanner.skipSpaces();
    const part = this.#one(field);
    return { kind: "not", part, span: { start, end: part.span.end } };
  }

  #grouped(field: SearchField | undefined): SearchNode | undefined {
    const scanner = this.#scanner;
    const start = scanner.at;
    if (!scanner.take("(")) return undefined;
    scanner.skipSpaces();
    if (scanner.sees(")")) {
      throw new SearchError("Cannot search for nothing: write a term between ( and )", {
        start,
        end: scanner.at + 1,
      });
    }
    const node = this.#either(field);
    if (!scanner.take(")")) {
      throw this.#errorAt(start, "Cannot find the end of this group: write a ) behind it");
    }
    return { ...node, span: { start, end: scanner.at } };
  }

  #term(outer: SearchField | undefined): SearchNode {
    const scanner = this.#scanner;
    const start = scanner.at;
    this.#needTerm();
    const named = scanner.takeField();
    const field = named === undefined ? outer : { name: named.text, span: named.span };
    if (named !== undefined && scanner.sees("(")) {
      const group = this.#grouped(field);
      if (group !== undefined) return { ...group, span: { start, end: group.span.end } };
    }
    this.#terms += 1;
    if (this.#terms > SEARCH_LIMITS.termsMax) {
      throw this.#errorAt(start, `Cannot look for more than ${SEARCH_LIMITS.termsMax} terms`);
    }
    const match = field === undefined ? this.#match() : this.#fieldMatch();
    const term: SearchTerm = { kind: "term", field, match, span: { start, end: scanner.at } };
    return term;
  }

  /** Errors: `SearchError` where no term can begin, such as behind the last `OR`. */
  #needTerm(): void {
    const scanner = this.#scanner;
    const keyword = ["AND", "OR"].find((word) => this.#seesKeyword(word));
    if (!scanner.isAtEnd() && !scanner.sees(")") && keyword === undefined) return;
    const what = keyword ?? (scanner.isAtEnd() ? "the end" : ")");
    const remedy = keyword === undefined ? "" : `, or "${keyword}" in quotes to look for the word`;
    const { at } = scanner;
    throw new SearchError(`Cannot find a term before ${what}: write one${remedy}`, {
      start: at,
      end: at + (keyword?.length ?? 1),
    });
  }

  /** What is looked for in the text. */
  #match(): SearchMatch {
    const regex = this.#scanner.takeRegex();
    if (regex !== undefined) return { kind: "regex", ...withoutSpan(regex) };
    const quoted = this.#scanner.takeQuoted();
    if (quoted !== undefined) return this.#quotedMatch(quoted);
    const { text, isPrefix, isPlain } = this.#scanner.takeWord();
    if (isPrefix) return { kind: "prefix", text };
    return text === "*" && isPlain ? { kind: "present" } : { kind: "text", text };
  }

  /** What is asked of a field. */
  #fieldMatch(): SearchMatch {
    const operator = OPERATORS.find((one) => this.#scanner.take(one));
    if (operator !== undefined) {
      const value = this.#bound("a comparison");
      return { kind: "range", bounds: [{ operator, value: value.text }] };
    }
    if (this.#scanner.sees("[") || this.#scanner.sees("{")) return this.#range();
    return this.#match();
  }

  /** A `*` behind the quotes looks for texts that begin so. */
  #quotedMatch({ text }: ScannedText): SearchMatch {
    return { kind: this.#scanner.take("*") ? "prefix" : "text", text };
  }

  #range(): SearchMatch {
    const scanner = this.#scanner;
    const start = scanner.at;
    const lower = scanner.take("[") ? ">=" : ">";
    if (lower === ">") scanner.take("{");
    scanner.skipSpaces();
    const from = this.#bound("a range");
    scanner.skipSpaces();
    if (!scanner.takeKeyword("TO")) throw this.#notARange(start);
    scanner.skipSpaces();
    const to = this.#bound("a range");
    scanner.skipSpaces();
    const upper = scanner.take("]") ? "<=" : scanner.take("}") ? "<" : undefined;
    if (upper === undefined) throw this.#notARange(start);
    const bounds: SearchBound[] = [
      { operator: lower, value: from },
      { operator: upper, value: to },
    ].flatMap(({ operator, value }) =>
      value.isOpen ? [] : [{ operator, value: value.text } as SearchBound]
    );
    return bounds.length === 0 ? { kind: "present" } : { kind: "range", bounds };
  }

  #bound(what: string): { readonly text: string; readonly isOpen: boolean } {
    const { at } = this.#scanner;
    const quoted = this.#scanner.takeQuoted();
    if (quoted !== undefined) return { text: quoted.text, isOpen: false };
    const { text } = this.#scanner.takeBound();
    if (text === "") throw this.#errorAt(at, `Cannot find the bound of ${what}: write a value`);
    return { text, isOpen: text === "*" };
  }

  #notARange(start: number): SearchError {
    return new SearchError("Cannot read this range: write it as [400 TO 499] or {400 TO *}", {
      start,
      end: this.#scanner.at,
    });
  }

  #errorAt(start: number, message: string): SearchError {
    return new SearchError(message, { start, end: Math.min(start + 1, this.#scanner.text.length) });
  }
}

function withoutSpan<T extends { readonly span: SearchSpan }>({ span: _, ...rest }: T) {
  return rest;
}

function groupOf(kind: "and" | "or", parts: readonly SearchNode[]): SearchNode {
  const [first, ...others] = parts;
  const last = others.at(-1);
  if (first === undefined) throw new Error("a group has a part");
  if (last === undefined) return first;
  return { kind, parts, span: { start: first.span.start, end: last.span.end } };
}
