import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { parseSearch } from "../../shared/search/parse_search.ts";
import type { SearchNode } from "../../shared/search/search_syntax.ts";
import { fieldTerm } from "./field_term.ts";
import { patternTerm } from "./pattern_term.ts";
import { binMsOf, parseRange, rangeText } from "./time_range.ts";

const TEXT = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 })
  .filter((text) => !text.includes("\0"));

Deno.test({
  name: "fieldTerm is read as just that field with just that value",
  fn() {
    fc.assert(fc.property(TEXT, TEXT, (name, value) => {
      const term = parseSearch(fieldTerm(name, value));
      strictEqual(term.kind, "term");
      if (term.kind !== "term") return;
      deepStrictEqual([term.field?.name, term.match], [name, { kind: "text", text: value }]);
    }));
  },
});

const PATTERNS: readonly (readonly [pattern: string, phrases: readonly string[]])[] = [
  ["took <*> ms", ["took", "ms"]],
  ["took <*>ms for <*>", ["took", "for"]],
  ["blk_<*> is added to <*>", ["is added to"]],
  ["card declined", ["card declined"]],
  ["null\0byte <*>", ["null byte"]],
  ["<*>", []],
];

Deno.test({
  name: "patternTerm looks for the whole words between the placeholders",
  fn() {
    for (const [pattern, phrases] of PATTERNS) {
      const term = patternTerm(pattern);
      deepStrictEqual(term === undefined ? [] : phrasesOf(parseSearch(term)), phrases, pattern);
    }
  },
});

function phrasesOf(node: SearchNode): string[] {
  if (node.kind === "and") return node.parts.flatMap(phrasesOf);
  return node.kind === "term" && node.match.kind === "text" ? [node.match.text] : [];
}

Deno.test({
  name: "ranges are read back from the address, and bins show them whole",
  fn() {
    for (
      const range of [{ kind: "last", ms: 3_600_000 }, { kind: "between", from: 5, to: 9 }] as const
    ) {
      deepStrictEqual(parseRange(rangeText(range)), range);
    }
    for (const text of ["", "x", "9..5", "-1m"]) strictEqual(parseRange(text), undefined, text);
    for (const hours of [1 / 60, 1, 6, 24, 24 * 30, 24 * 800]) {
      const instants = { from: 0, to: hours * 3_600_000 };
      strictEqual(instants.to / binMsOf(instants, 90) <= 90, true, `${hours} hours`);
    }
  },
});
