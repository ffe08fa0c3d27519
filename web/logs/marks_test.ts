import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { parseSearch } from "../../shared/search/parse_search.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { cutLine, markersOf, marksIn } from "./marks.ts";

const TABLE = { columns: EVENTS_SCHEMA.columns, texts: ["raw"] };

const CASES: readonly (readonly [search: string, text: string, marked: readonly string[]])[] = [
  ["error", "Error: errors, error_code error", ["Error", "error"]],
  ['"card declined"', "Card  -declined, cards declined", ["Card  -declined"]],
  ["time*", "timeout of time, sometimes", ["timeout", "time"].map((word) => word.slice(0, 4))],
  ["raw:retry level:error", "retry error", ["retry"]],
  ["-error retry", "error retry", ["retry"]],
  ["(a OR b) NOT c", "a b c", ["a", "b"]],
  ["/port \\d+/", "from port 22 port x", ["port 22"]],
  ["/(a+)+$/", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", []],
  ['"a b" b', "a b b", ["a b", "b"]],
  ["ann.lee", "ann.lee ann lee", ["ann.lee", "ann lee"]],
  ['"->"', "a -> b", ["->"]],
  ["", "anything", []],
];

Deno.test({
  name: "marksIn marks what the search looks for in the text, and nothing that it leaves out",
  fn() {
    for (const [search, text, marked] of CASES) {
      const found = marksIn(text, markersOf(parseSearch(search), TABLE))
        .map(({ start, end }) => text.slice(start, end));
      deepStrictEqual(found, marked, search);
    }
  },
});

Deno.test({
  name: "cutLine keeps the beginning while the match is in view, else the match",
  fn() {
    const markers = markersOf(parseSearch("needle"), TABLE);
    strictEqual(cutLine("a needle", markers, 80).start, 0);
    const text = `${"x ".repeat(500_000)}needle ${"y ".repeat(1_000)}`;
    const cut = cutLine(text, markers, 80);
    strictEqual(cut.start, 1_000_000 - 24);
    deepStrictEqual(cut.marks.map(({ start, end }) => cut.text.slice(start, end)), ["needle"]);
    strictEqual(cut.text.length, 1_000);
  },
});
