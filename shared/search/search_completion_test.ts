import { deepStrictEqual, ok } from "node:assert/strict";
import fc from "fast-check";
import { parseSearch } from "./parse_search.ts";
import { completionAt } from "./search_completion.ts";

/** `|` is the cursor. The wanted: what is typed, with its field, and the text that is replaced. */
const CASES: readonly (readonly [
  text: string,
  wanted: readonly [typed: string, replaced: string, field?: string] | undefined,
])[] = [
  ["|", ["", ""]],
  ["err|", ["err", "err"]],
  ["error ser|", ["ser", "ser"]],
  ["error ser|vice x", ["ser", "service"]],
  ["error ser|vice:x", ["ser", "service"]],
  ["-lev|", ["lev", "lev"]],
  ["NOT lev|", ["lev", "lev"]],
  ["a OR (b lev|", ["lev", "lev"]],
  ["level:|", ["", "", "level"]],
  ["level:wa|", ["wa", "wa", "level"]],
  ["level:>=wa|rn x", ["wa", "warn", "level"]],
  ["level:(error OR wa|", ["wa", "wa", "level"]],
  ["level:(error OR warn) hos|", ["hos", "hos"]],
  ["http.status:5|", ["5", "5", "http.status"]],
  ['service:"two wo|', ["two wo", '"two wo', "service"]],
  ['service:"two wo|rds" x', ["two wo", '"two words"', "service"]],
  ['"user name":an|', ["an", "an", "user name"]],
  ['"a phrase|', undefined],
  ['"a phrase" lev|', ["lev", "lev"]],
  ["/reg|", undefined],
  ["/reg ex/ lev|", ["lev", "lev"]],
  ["n:[1 TO 2|", undefined],
  ["n:[1 TO 2] lev|", ["lev", "lev"]],
  ["a*b|", undefined],
  ["level:warn |", ["", ""]],
];

Deno.test({
  name: "completionAt tells what is typed at the cursor",
  fn() {
    for (const [marked, wanted] of CASES) {
      const at = marked.indexOf("|");
      const text = marked.replace("|", "");
      const found = completionAt(text, at);
      const told = found === undefined ? undefined : [
        found.typed,
        text.slice(found.span.start, found.span.end),
        ...found.kind === "value" ? [found.field] : [],
      ];
      deepStrictEqual(told, wanted, marked);
    }
  },
});

Deno.test({
  name: "completionAt tells whether a colon is there",
  fn() {
    const hasColon = (text: string, at: number) => {
      const found = completionAt(text, at);
      return found?.kind === "name" && found.hasColon;
    };
    deepStrictEqual([hasColon("lev:x", 3), hasColon("lev x", 3), hasColon("le vel:", 2)], [
      true,
      false,
      false,
    ]);
  },
});

Deno.test({
  name: "completionAt has an answer for any text, whose place holds the cursor",
  fn() {
    const piece = fc.oneof(
      fc.constantFrom(
        "level:",
        "(",
        ")",
        '"',
        "/",
        "-",
        "[",
        "]",
        "*",
        "\\",
        " ",
        "OR ",
        ">=",
        "a",
      ),
      fc.string({ maxLength: 3 }),
    );
    const text = fc.array(piece, { maxLength: 10 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(text, fc.nat(), (typed, place) => {
        const at = place % (typed.length + 1);
        const found = completionAt(typed, at);
        if (found === undefined) return;
        ok(found.span.start <= at && at <= found.span.end && found.span.end <= typed.length);
      }),
      { numRuns: 2_000 },
    );
  },
});

Deno.test({
  name: "completionAt at the end of a term's value is what the parser reads there",
  fn() {
    const name = fc.stringMatching(/^[a-z][a-z.]{0,8}$/);
    const value = fc.stringMatching(/^[a-z0-9_.]{1,8}$/);
    fc.assert(fc.property(fc.array(fc.tuple(name, value), { minLength: 1 }), (terms) => {
      const text = terms.map(([field, word]) => `${field}:${word}`).join(" OR ");
      const [field = "", typed = ""] = terms.at(-1) ?? [];
      const node = parseSearch(text);
      const last = node.kind === "or" ? node.parts.at(-1) : node;
      ok(last?.kind === "term" && last.field?.name === field);
      const { start, end } = last.span;
      deepStrictEqual(completionAt(text, text.length), {
        ...{ kind: "value", field, typed },
        span: { start: start + field.length + 1, end },
      });
    }));
  },
});
