/**
 * Which frames of the WAL can hold a row that a statement needs. If each such row has some text, it
 * is looked for in the bytes of the frame's message, before any of it is decoded.
 *
 * It is sound, not complete. A text of the frame's rows stands in its message as it is, but for two
 * things. JSON may write a letter as an escape, so a frame with escapes of ASCII is kept for
 * attributes. And a word may be found by letters in other case.
 */

import { Buffer } from "node:buffer";
import { isAscii } from "../../base/ascii.ts";
import { isTellable } from "../../derived/rows/literal_words.ts";
import { tokenize } from "../../derived/text/tokenize.ts";
import type { Column } from "../../schema/schema.ts";
import type { Leaf, Predicate } from "../pruning/predicate.ts";

/** Whether rows of a message, as `WalFrame.message` is, can be among those that are needed. */
export type FrameSieve = (message: Uint8Array) => boolean;

/** Whether a message can hold such rows; each of its bytes is a character. */
type Holds = (bytes: string) => boolean;

/** Shorter texts are in nearly every frame. */
const TEXT_LENGTH_MIN = 3;

/**
 * The sieve of a predicate for frames with `columns`. Undefined: the predicate names no text that
 * their bytes must have.
 */
export function frameSieve(
  predicate: Predicate<Column>,
  columns: readonly Column[],
): FrameSieve | undefined {
  const holds = holdsFor(predicate, columns);
  if (holds === undefined) return undefined;
  return ({ buffer, byteOffset, byteLength }) =>
    holds(Buffer.from(buffer, byteOffset, byteLength).toString("latin1"));
}

function holdsFor(predicate: Predicate<Column>, columns: readonly Column[]): Holds | undefined {
  switch (predicate.kind) {
    case "all":
      return undefined;
    case "and":
      return every(predicate.of.map((one) => holdsFor(one, columns)));
    case "or":
      return some(predicate.of.map((one) => holdsFor(one, columns)));
    default: {
      // A column that these rows have in another type is converted, and its texts with it.
      const { id } = predicate.column;
      const own = columns.find((column) => column.id === id);
      return own?.type === "string" ? holdsForLeaf(predicate) : undefined;
    }
  }
}

function holdsForLeaf(leaf: Leaf<Column>): Holds | undefined {
  switch (leaf.kind) {
    case "terms": {
      if (leaf.isStemmed || !isTellable(leaf.text)) return undefined;
      const words = tokenize(leaf.text).map((word) => isAscii(word) ? inAnyCase(word) : undefined);
      return leaf.mode === "any" ? some(words) : every(words);
    }
    case "substring":
      return leaf.ignoreCase ? every(asciiRuns(leaf.text).map(inAnyCase)) : asItIs(leaf.text);
    case "compare":
      if (leaf.operator !== "=") return undefined;
      return some(
        leaf.values.map((value) => typeof value === "string" ? asItIs(value) : undefined),
      );
    case "attribute":
      return some(leaf.values.map(inJson));
    case "member":
    case "starts":
      return undefined;
  }
}

/** What is not known is left out. */
function every(of: readonly (Holds | undefined)[]): Holds | undefined {
  const known = of.filter((one) => one !== undefined);
  return known.length === 0 ? undefined : (bytes) => known.every((holds) => holds(bytes));
}

/** If one is not known, nothing is. */
function some(of: readonly (Holds | undefined)[]): Holds | undefined {
  const known = of.filter((one) => one !== undefined);
  if (known.length === 0 || known.length < of.length) return undefined;
  return (bytes) => known.some((holds) => holds(bytes));
}

function asItIs(text: string): Holds | undefined {
  const found = Buffer.from(text).toString("latin1");
  if (found.length < TEXT_LENGTH_MIN || !text.isWellFormed()) return undefined;
  return (bytes) => bytes.includes(found);
}

/** Letters beyond ASCII that are an ASCII letter in lower case, as bytes of UTF-8. */
const OTHER_CASES: Readonly<Record<string, string>> = { i: "\xc4\xb0", k: "\xe2\x84\xaa" };

function inAnyCase(ascii: string): Holds | undefined {
  if (ascii.length < TEXT_LENGTH_MIN) return undefined;
  const pattern = Array.from(ascii.toLowerCase(), (letter) => {
    const other = OTHER_CASES[letter];
    return other === undefined ? RegExp.escape(letter) : `(?:${letter}|${other})`;
  });
  const found = new RegExp(pattern.join(""), "i");
  return (bytes) => found.test(bytes);
}

function asciiRuns(text: string): readonly string[] {
  return text.match(/[\0-\x7f]+/g) ?? [];
}

/** What JSON writes as it is, or as the escape of its code point. */
const PLAIN_IN_JSON = /[\w.@-]+/g;
/** `1E3` is shown as `1000.0`. A column of truth values has no text. */
const WRITTEN_OTHERWISE = /^(?:-?\d*[.eE][\d.eE+-]*|true|false)$/;
const ASCII_ESCAPE = /\\u00[2-7]/;

/** A value of JSON that is shown so. What an array or an object is as text is written anew. */
function inJson(value: string): Holds | undefined {
  if (value.startsWith("{") || value.startsWith("[")) return undefined;
  const runs = (value.match(PLAIN_IN_JSON) ?? []).filter((run) => !WRITTEN_OTHERWISE.test(run));
  const longest = runs.reduce((a, b) => a.length < b.length ? b : a, "");
  if (longest.length < TEXT_LENGTH_MIN) return undefined;
  return (bytes) => bytes.includes(longest) || bytes.includes("\\u00") && ASCII_ESCAPE.test(bytes);
}
