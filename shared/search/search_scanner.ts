/**
 * Reads the pieces of a search's text, one after the other: words, quoted texts, regular
 * expressions, names of fields. It knows where each ends, and nothing of how they belong together.
 */

import { SearchError, type SearchSpan } from "./search_error.ts";

const SPACE = /\s/;
/** Characters that end a word; a `\` before one makes it an ordinary character. */
const ENDS_WORD = /[\s()"]/;
const ENDS_BOUND = /[\s()"\]}]/;
const FIELD = /(?!\/)((?:\\.|[^\s()":\\])+):(?!\s|:|\/\/|$|\))/uy;
const QUOTED_FIELD = /"((?:\\.|[^"\\])+)":(?!\s|$|\))/uy;
const REGEX = /\/((?:\\.|[^\/\\\n])+)\/(i?)(?=$|[\s()])/uy;

/** A piece of text and its place. */
export interface ScannedText {
  /** Without quotes, and with each `\x` as `x`. */
  readonly text: string;
  readonly span: SearchSpan;
}

/** A word; `isPrefix`: a `*` ends it. */
export interface ScannedWord extends ScannedText {
  readonly isPrefix: boolean;
  /** Whether no character of it was written with `\`: only such a word is `OR`. */
  readonly isPlain: boolean;
}

/** A regular expression between its slashes. */
export interface ScannedRegex {
  readonly pattern: string;
  readonly ignoresCase: boolean;
  readonly span: SearchSpan;
}

/** A place in a text, which moves on as pieces are taken. */
export class SearchScanner {
  at = 0;

  constructor(readonly text: string) {}

  skipSpaces(): void {
    while (SPACE.test(this.text[this.at] ?? "")) this.at += 1;
  }

  isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  /** Whether `piece` comes next. */
  sees(piece: string): boolean {
    return this.text.startsWith(piece, this.at);
  }

  /** Takes `piece` if it comes next. */
  take(piece: string): boolean {
    if (!this.sees(piece)) return false;
    this.at += piece.length;
    return true;
  }

  /** Takes a word in capitals that stands alone, such as `OR`. */
  takeKeyword(keyword: string): boolean {
    if (!this.sees(keyword)) return false;
    const next = this.text[this.at + keyword.length];
    if (next !== undefined && !ENDS_WORD.test(next)) return false;
    this.at += keyword.length;
    return true;
  }

  /** Takes the name of a field and its colon. A name of digits alone is no field. */
  takeField(): ScannedText | undefined {
    const start = this.at;
    const quoted = this.#match(QUOTED_FIELD);
    const plain = quoted === undefined ? this.#match(FIELD) : undefined;
    const written = (quoted ?? plain)?.[1];
    if (written === undefined || (plain !== undefined && /^\d+$/.test(written))) {
      this.at = start;
      return undefined;
    }
    return { text: unescaped(written), span: { start, end: this.at - 1 } };
  }

  /** Takes `/…/` or `/…/i` if that is what comes next; a path is none. */
  takeRegex(): ScannedRegex | undefined {
    const start = this.at;
    const found = this.#match(REGEX);
    if (found === undefined) return undefined;
    const [, pattern = "", flags] = found;
    return {
      pattern: pattern.replaceAll("\\/", "/"),
      ignoresCase: flags === "i",
      span: { start, end: this.at },
    };
  }

  /** Takes a text in quotes. Errors: `SearchError` when it has no end. */
  takeQuoted(): ScannedText | undefined {
    const start = this.at;
    if (!this.take('"')) return undefined;
    for (let end = this.at; end < this.text.length; end += 1) {
      if (this.text[end] === "\\") end += 1;
      else if (this.text[end] === '"') {
        const text = unescaped(this.text.slice(this.at, end));
        this.at = end + 1;
        return { text, span: { start, end: this.at } };
      }
    }
    const span = { start, end: this.text.length };
    throw new SearchError('Cannot find the end of this text in quotes: write a " behind it', span);
  }

  /**
   * Takes everything up to a space, a quote or a parenthesis. Errors: `SearchError` for a `*` that
   * is not at its end.
   */
  takeWord(): ScannedWord {
    const { written, span } = this.#takeUntil(ENDS_WORD);
    const isStars = /^\*+$/.test(written);
    const isPrefix = !isStars && written.endsWith("*") && !isEscaped(written);
    const stem = isPrefix ? written.slice(0, -1) : written;
    if (!isStars && hasStar(stem)) {
      throw new SearchError(
        `Cannot look for ${written}: a * may stand at the end of a word only; write ` +
          `/${stem.replaceAll("*", ".*")}/, or \\* for the character`,
        span,
      );
    }
    return { text: unescaped(stem), span, isPrefix, isPlain: !written.includes("\\") };
  }

  /** Takes the bound of a range, which also ends at a bracket. */
  takeBound(): ScannedText {
    const { written, span } = this.#takeUntil(ENDS_BOUND);
    return { text: unescaped(written), span };
  }

  #takeUntil(end: RegExp): { readonly written: string; readonly span: SearchSpan } {
    const start = this.at;
    while (!this.isAtEnd() && !end.test(this.text[this.at] ?? "")) {
      this.at += this.text[this.at] === "\\" ? 2 : 1;
    }
    this.at = Math.min(this.at, this.text.length);
    return { written: this.text.slice(start, this.at), span: { start, end: this.at } };
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) return undefined;
    this.at = pattern.lastIndex;
    return found;
  }
}

function unescaped(written: string): string {
  return written.replaceAll(/\\(.)/gsu, "$1");
}

/** Whether the last character was written with `\`. */
function isEscaped(written: string): boolean {
  const slashes = /(\\*).$/s.exec(written)?.[1] ?? "";
  return slashes.length % 2 === 1;
}

/** Whether a `*` stands in it that was not written with `\`. */
function hasStar(written: string): boolean {
  return written.replaceAll(/\\./gsu, "").includes("*");
}
