import { deepStrictEqual, fail, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { parseSearch } from "./parse_search.ts";
import { SearchError } from "./search_error.ts";
import type { SearchMatch, SearchNode } from "./search_syntax.ts";

/** A tree as a short text: words in `w()`, negations with `!`, groups in parentheses. */
function shown(node: SearchNode): string {
  switch (node.kind) {
    case "all":
      return "all";
    case "not":
      return `!${shown(node.part)}`;
    case "and":
    case "or":
      return `(${node.parts.map(shown).join(node.kind === "and" ? " & " : " | ")})`;
    case "term":
      return `${node.field === undefined ? "" : `${node.field.name}:`}${shownMatch(node.match)}`;
  }
}

function shownMatch(match: SearchMatch): string {
  switch (match.kind) {
    case "text":
      return `<${match.text}>`;
    case "prefix":
      return `<${match.text}>*`;
    case "regex":
      return `/${match.pattern}/${match.ignoresCase ? "i" : ""}`;
    case "range":
      return match.bounds.map(({ operator, value }) => `${operator}${value}`).join(",");
    case "present":
      return "*";
  }
}

const TREES: readonly (readonly [text: string, tree: string])[] = [
  ["", "all"],
  ["  \t", "all"],
  ["*", "*"],
  ["timeout", "<timeout>"],
  ['"blue chair"', "<blue chair>"],
  [String.raw`"a \"quoted\" \\ word"`, String.raw`<a "quoted" \ word>`],
  ['"pay dec"*', "<pay dec>*"],
  ["time*", "<time>*"],
  [String.raw`time\*`, "<time*>"],
  [String.raw`\*`, "<*>"],
  ["a b", "(<a> & <b>)"],
  ["a AND b", "(<a> & <b>)"],
  ["a OR b c", "(<a> | (<b> & <c>))"],
  ["a b OR c", "((<a> & <b>) | <c>)"],
  ["(a OR b) c", "((<a> | <b>) & <c>)"],
  ["a or b", "(<a> & <or> & <b>)"],
  ["ORDER", "<ORDER>"],
  ["-a b", "(!<a> & <b>)"],
  ["NOT a b", "(!<a> & <b>)"],
  ["NOT NOT a", "!!<a>"],
  ["-(a OR b)", "!(<a> | <b>)"],
  ["a-b", "<a-b>"],
  ["- a", "(<-> & <a>)"],
  ["--since", "<--since>"],
  ["service:checkout", "service:<checkout>"],
  ['service:"two words"', "service:<two words>"],
  ['"my field":x', "my field:<x>"],
  [String.raw`a\:b:c`, "a:b:<c>"],
  ["http.status_code:>=500", "http.status_code:>=500"],
  ["n:<-1.5", "n:<-1.5"],
  ["n:[400 TO 499]", "n:>=400,<=499"],
  ["n:{400 TO *}", "n:>400"],
  ["n:[* TO 499}", "n:<499"],
  ["n:[* TO *]", "n:*"],
  ['at:["2026-11-20 00:00" TO *]', "at:>=2026-11-20 00:00"],
  ["field:*", "field:*"],
  ["field:val*", "field:<val>*"],
  [String.raw`field:/a\/b c/i`, "field:/a/b c/i"],
  ["level:(error OR fatal)", "(level:<error> | level:<fatal>)"],
  ["-service:x", "!service:<x>"],
  [String.raw`/port \d+/`, String.raw`/port \d+/`],
  ["/a:b/", "/a:b/"],
  // What people paste.
  ["error: failed", "(<error:> & <failed>)"],
  ["12:30:45", "<12:30:45>"],
  ["std::vector", "<std::vector>"],
  ["http://host/path", "<http://host/path>"],
  ["/var/log/syslog", "</var/log/syslog>"],
  ["GET /healthz", "(<GET> & </healthz>)"],
  ["foo(bar)", "(<foo> & <bar>)"],
  ["{}[]", "<{}[]>"],
];

Deno.test({
  name: "parseSearch reads each text of the table",
  fn() {
    for (const [text, tree] of TREES) strictEqual(shown(parseSearch(text)), tree, text);
  },
});

const ERRORS: readonly (readonly [text: string, span: readonly [number, number], why: RegExp])[] = [
  ['a "b c', [2, 6], /end of this text in quotes/],
  ["(a b", [0, 1], /end of this group/],
  ["a b)", [3, 4], /what this \) ends/],
  ["()", [0, 2], /search for nothing/],
  ["a OR", [4, 5], /term before the end/],
  ["OR a", [0, 2], /term before OR: write one, or "OR" in quotes/],
  ["a AND OR b", [6, 8], /term before OR/],
  ["NOT", [3, 4], /term before the end/],
  ["a*b", [0, 3], /\* may stand at the end of a word only; write \/a\.\*b\//],
  ["n:[1 2]", [2, 5], /write it as \[400 TO 499\]/],
  ["n:[1 TO 2", [2, 9], /write it as \[400 TO 499\]/],
  ["n:>=", [4, 4], /bound of a comparison/],
  ["a\0b", [1, 2], /U\+0000/],
  ["x".repeat(8_193), [8_192, 8_193], /8193 characters/],
  ["a ".repeat(300), [512, 513], /more than 256 terms/],
  ["(".repeat(100), [64, 65], /more than 64 groups/],
];

Deno.test({
  name: "parseSearch tells the place of what is wrong",
  fn() {
    for (const [text, [start, end], why] of ERRORS) {
      try {
        parseSearch(text);
      } catch (error) {
        ok(error instanceof SearchError, text);
        ok(why.test(error.message), `${text}: ${error.message}`);
        deepStrictEqual([error.span.start, error.span.end], [start, end], text);
        continue;
      }
      fail(`${text} was read`);
    }
  },
});

Deno.test({
  name: "parseSearch ends with a tree or a SearchError, and places lie in the text",
  fn() {
    const piece = fc.constantFrom(
      ...["a", "OR", "AND", "NOT", "-", "(", ")", '"', ":", "f:", "[", "]", "{", "}", " TO "],
      ...["*", "/", "\\", " ", ">", "<=", "é", "🙂", "\ud800", "'", ";", "--", "\n"],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 24 }), (pieces) => {
        const text = pieces.join("");
        try {
          checkSpans(parseSearch(text), 0, text.length);
        } catch (error) {
          if (!(error instanceof SearchError)) throw error;
          ok(error.span.start >= 0 && error.span.start <= error.span.end);
        }
      }),
      { numRuns: 3_000 },
    );
  },
});

function checkSpans(node: SearchNode, start: number, end: number): void {
  ok(start <= node.span.start && node.span.start <= node.span.end && node.span.end <= end);
  const parts = node.kind === "not" ? [node.part] : "parts" in node ? node.parts : [];
  for (const part of parts) checkSpans(part, node.span.start, node.span.end);
}
