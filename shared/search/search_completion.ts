/**
 * What could be completed at a place of a search that is being typed: a field's name or one of its
 * values. README.md has the language. It knows no names and no values; who asks has them.
 */

import type { SearchSpan } from "./search_error.ts";
import { SearchScanner } from "./search_scanner.ts";

/** What is being typed at a place. `span` is the part of the text that a completion replaces. */
export type SearchCompletion =
  /** A word, which may become a field's name; `hasColon`: one stands behind it already. */
  | {
    readonly kind: "name";
    readonly typed: string;
    readonly span: SearchSpan;
    readonly hasColon: boolean;
  }
  /** A value of a field, or the beginning of one. */
  | {
    readonly kind: "value";
    readonly field: string;
    readonly typed: string;
    readonly span: SearchSpan;
  };

/** Stands for what comes behind the cursor: a character that no text needs. */
const CURSOR = "\u{F8FF}";
const REST_OF_WORD = /^[^\s()":]*/u;

/**
 * Returns what is typed at `at`, a place between two characters. Undefined: nothing that has names
 * or values, such as a phrase, a regular expression or a range.
 */
export function completionAt(text: string, at: number): SearchCompletion | undefined {
  const scanner = new SearchScanner(text.slice(0, at).replaceAll(CURSOR, "_") + CURSOR);
  try {
    return completionOf(scanner, text.slice(at));
  } catch {
    // Text that no search can have, such as a star within a word.
    return undefined;
  }
}

function completionOf(scanner: SearchScanner, behind: string): SearchCompletion | undefined {
  /** Fields of the groups around: `level:(error OR …`. */
  const groups: (string | undefined)[] = [];
  for (;;) {
    scanner.skipSpaces();
    if (scanner.take("(")) {
      groups.push(groups.at(-1));
    } else if (scanner.take(")")) {
      groups.pop();
    } else if (!takeKeyword(scanner)) {
      scanner.take("-");
      const named = scanner.takeField();
      const field = named?.text ?? groups.at(-1);
      if (named !== undefined && scanner.take("(")) {
        groups.push(field);
        continue;
      }
      const done = field === undefined
        ? nameAt(scanner, behind)
        : valueAt(scanner, { field, behind });
      if (done !== "later") return done;
    }
  }
}

function takeKeyword(scanner: SearchScanner): boolean {
  return ["AND", "OR", "NOT"].some((word) => scanner.takeKeyword(word));
}

/** `later`: the cursor stands further on. */
function nameAt(scanner: SearchScanner, behind: string): SearchCompletion | undefined | "later" {
  const start = scanner.at;
  const piece = takePiece(scanner);
  if (!isLast(scanner)) return "later";
  if (piece === undefined) return undefined;
  const rest = REST_OF_WORD.exec(behind)?.[0] ?? "";
  const end = scanner.at - CURSOR.length + rest.length;
  return {
    kind: "name",
    typed: piece,
    span: { start, end },
    hasColon: behind.startsWith(":", rest.length),
  };
}

const OPERATORS = ["<=", ">=", "<", ">"];

function valueAt(
  scanner: SearchScanner,
  { field, behind }: { readonly field: string; readonly behind: string },
): SearchCompletion | undefined | "later" {
  OPERATORS.some((operator) => scanner.take(operator));
  if (scanner.sees("[") || scanner.sees("{")) return takeRange(scanner) ? "later" : undefined;
  const start = scanner.at;
  const isQuoted = scanner.sees('"');
  const piece = takePiece(scanner, { isValue: true });
  if (!isLast(scanner)) return "later";
  if (piece === undefined) return undefined;
  const rest = (isQuoted ? /^(?:\\.|[^"\\])*"?/su : REST_OF_WORD).exec(behind)?.[0] ?? "";
  return {
    kind: "value",
    field,
    typed: piece,
    span: { start, end: scanner.at - CURSOR.length + rest.length },
  };
}

/** Whether all of the text was taken, the cursor with it. */
function isLast(scanner: SearchScanner): boolean {
  return scanner.isAtEnd();
}

/** Takes a word, a quoted text or a regular expression; undefined: the last two, or an odd word. */
function takePiece(scanner: SearchScanner, { isValue = false } = {}): string | undefined {
  if (scanner.takeRegex() !== undefined || scanner.sees("/")) {
    takeOddWord(scanner);
    return undefined;
  }
  if (scanner.sees('"')) {
    const open = openQuoted(scanner);
    if (open === undefined) scanner.takeQuoted();
    return isValue ? open : undefined;
  }
  const { text } = scanner.takeWord();
  return text.endsWith(CURSOR) ? text.slice(0, -CURSOR.length) : undefined;
}

/** Takes the rest of the text where it begins with a quote that has no end. */
function openQuoted(scanner: SearchScanner): string | undefined {
  const rest = scanner.text.slice(scanner.at + 1);
  if (/^(?:\\.|[^"\\])*"/su.test(rest)) return undefined;
  scanner.at = scanner.text.length;
  return rest.slice(0, -CURSOR.length).replaceAll(/\\(.)/gsu, "$1");
}

function takeOddWord(scanner: SearchScanner): void {
  const rest = /^[^\s()]*/u.exec(scanner.text.slice(scanner.at))?.[0] ?? "";
  scanner.at += rest.length;
}

/** Whether the range ends before the cursor. */
function takeRange(scanner: SearchScanner): boolean {
  const end = /[\]}]/.exec(scanner.text.slice(scanner.at));
  if (end === null) return false;
  scanner.at += end.index + 1;
  return true;
}
