/**
 * The SQL of a search against an evaluation in plain code, which README.md's words made: random
 * searches over rows that have what they ask for in many ways.
 */

import { deepStrictEqual, ok, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { tokenize } from "../derived/text/tokenize.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { TRACES_SCHEMA } from "../schema/traces.ts";
import { EngineLab } from "../testing/engine_lab.ts";
import { parseSearch } from "./parse_search.ts";
import { searchCondition } from "./search_condition.ts";
import { SearchError } from "./search_error.ts";
import type { SearchBound, SearchMatch, SearchNode } from "./search_syntax.ts";

const EVENTS = { columns: EVENTS_SCHEMA.columns, texts: ["raw"] };
const RUNS = Number(Deno.env.get("SVC_TEST_SEARCH_RUNS") ?? 30);
const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z

interface Row {
  readonly host: string;
  readonly raw: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

const ROWS: readonly Row[] = [
  { host: "web-1", raw: "Request timeout after 30 ms", attributes: { level: "Error", code: 500 } },
  {
    host: "web-1",
    raw: "blue chair sold",
    attributes: { severity_text: "INFO", code: "404", cart: { id: "x y", sum: { all: 500 } } },
  },
  { host: "web-2", raw: "chair, BLUE", attributes: { severity_text: "WARN", level: "fatal" } },
  { host: "web*", raw: "100 % *** done", attributes: { severity_number: 18, "a.b": "x y" } },
  { host: "db", raw: "timeouts: none", attributes: { severity_number: "9", code: 1.5 } },
  { host: "db", raw: "", attributes: { cart: { id: "web-1", sum: { all: 1.5 } } } },
  { host: "db", raw: "none", attributes: { cart: { id: null, sum: "404" } } },
  { host: "it's", raw: "it's 'quoted' -- text; /a/b", attributes: { "it's": "'", code: "high" } },
  { host: 'a"b', raw: "connect port 12345 ssh2", attributes: { level: "debug", code: null } },
  { host: "é", raw: "Straße ÉCOLE 接続", attributes: { severity_text: "odd", code: -3 } },
  { host: "h:1", raw: "at 12:30:45 http://host/path", attributes: { source: "inner" } },
];

const SEVERITY_RANKS = ["trace", "debug", "info", "warn", "error", "fatal"];

/** What README.md says of levels, in the simplest way. */
function rankOf({ attributes }: Row): number | undefined {
  const name = textOf(attributes["severity_text"]) ?? textOf(attributes["level"]);
  if (name !== undefined) {
    const rank = SEVERITY_RANKS.indexOf(name.toLowerCase());
    return rank < 0 ? undefined : rank;
  }
  const number = textOf(attributes["severity_number"]);
  return number === undefined ? undefined : Math.floor((Number(number) - 1) / 4);
}

function textOf(value: unknown): string | undefined {
  return value === null || value === undefined ? undefined : String(value);
}

function finds(node: SearchNode, row: Row): boolean {
  switch (node.kind) {
    case "all":
      return true;
    case "not":
      return !finds(node.part, row);
    case "and":
      return node.parts.every((part) => finds(part, row));
    case "or":
      return node.parts.some((part) => finds(part, row));
    case "term":
      return termFinds(node.field?.name, node.match, row);
  }
}

function termFinds(field: string | undefined, match: SearchMatch, row: Row): boolean {
  if (field === undefined && match.kind === "present") return true;
  if (field === "raw" && match.kind === "text" && match.text === "") return row.raw === "";
  if (field === undefined || field === "raw") return textFinds(row.raw, match);
  if (field === "level") return levelFinds(row, match);
  return valueFinds(valueOf(field, row), match);
}

function valueOf(field: string, { host, attributes }: Row): string | undefined {
  if (field === "host") return host;
  if (field === "service" || field === "source") return "s";
  const name = field.replace(/^attributes\./, "");
  if (!name.startsWith("$.")) return textOf(attributes[name]);
  return textOf(name.slice(2).split(".").reduce(memberOf, attributes));
}

function memberOf(value: unknown, name: string): unknown {
  const isObject = typeof value === "object" && value !== null;
  return isObject ? (value as Record<string, unknown>)[name] : undefined;
}

function textFinds(text: string, match: SearchMatch): boolean {
  if (match.kind !== "text" && match.kind !== "prefix") return valueFinds(text, match);
  const wanted = tokenize(match.text);
  if (wanted.length === 0) return text.includes(match.text);
  const words = tokenize(text);
  return words.some((_, at) =>
    wanted.every((word, i) => {
      const found = words[at + i];
      const isBeginning = match.kind === "prefix" && i === wanted.length - 1;
      return isBeginning ? found?.startsWith(word) === true : found === word;
    })
  );
}

function valueFinds(value: string | undefined, match: SearchMatch): boolean {
  if (value === undefined) return false;
  switch (match.kind) {
    case "text":
      return value === match.text;
    case "prefix":
      return value.startsWith(match.text);
    case "regex":
      return new RegExp(match.pattern, match.ignoresCase ? "iu" : "u").test(value);
    case "range":
      return match.bounds.every((bound) => isWithin(value, bound));
    case "present":
      return true;
  }
}

function isWithin(value: string, { operator, value: bound }: SearchBound): boolean {
  const isNumber = /^-?\d+(\.\d+)?$/.test(bound);
  if (isNumber && !/^-?\d+(\.\d+)?$/.test(value)) return false;
  return compares(isNumber ? Number(value) - Number(bound) : inOrder(value, bound), operator);
}

function inOrder(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  for (const [at, letter] of left.entries()) {
    const other = right[at];
    if (other === undefined) return 1;
    if (letter !== other) return (letter.codePointAt(0) ?? 0) - (other.codePointAt(0) ?? 0);
  }
  return left.length - right.length;
}

function compares(difference: number, operator: SearchBound["operator"]): boolean {
  return {
    "<": difference < 0,
    "<=": difference <= 0,
    ">": difference > 0,
    ">=": difference >= 0,
  }[operator];
}

function levelFinds(row: Row, match: SearchMatch): boolean {
  const { attributes } = row;
  const name = textOf(attributes["severity_text"]) ?? textOf(attributes["level"]);
  const rank = rankOf(row);
  if (match.kind === "range") {
    return rank !== undefined &&
      match.bounds.every(({ operator, value }) =>
        compares(rank - SEVERITY_RANKS.indexOf(value.toLowerCase()), operator)
      );
  }
  if (match.kind === "text" && SEVERITY_RANKS.includes(match.text.toLowerCase())) {
    return rank === SEVERITY_RANKS.indexOf(match.text.toLowerCase());
  }
  if (match.kind === "present") return name !== undefined || rank !== undefined;
  return valueFinds(name, match);
}

const WORDS = fc.constantFrom(
  ...["timeout", "TIMEOUT", "chair", '"blue chair"', '"chair blue"', "time*", "blue-chair", "***"],
  ...[String.raw`\*\*`, "é*", "école", "接続", "'", "--", "12:30:45", "http://host/path", "absent"],
  ...['"it\'s"', "/port [0-9]+/", "/TIMEOUT/i", "/^$/", '"%"', "*", "100"],
);
const NAMES = fc.constantFrom(
  ...["host", "service", "source", "attributes.source", "code", "a.b", "absent", "it's", "raw"],
  ...["$.cart.id", "$.cart.sum.all", "attributes.$.cart.id", "$.cart.none"],
);
const VALUES = fc.constantFrom(
  ...["web-1", "web*", String.raw`web\*`, "db", "s", "inner", "'", '"x y"', '"a\\"b"', "*", "500"],
  ...["404", ">=404", ">1", "<=1.5", "[1 TO 500]", "{-3 TO 404}", ">=high", "<i", "/^web/", "é"],
  ...["h\\:1", "(404 OR 500)", "x"],
);
const LEVELS = fc.constantFrom(
  ...["error", "ERROR", "warn", "odd", ">=warn", "<info", ">Error", "[debug TO warn]", "*", "o*"],
);
const TERMS = fc.oneof(
  WORDS,
  fc.tuple(NAMES, VALUES).map(([name, value]) => `${name}:${value}`),
  LEVELS.map((level) => `level:${level}`),
);
const SEARCHES: fc.Arbitrary<string> = fc.letrec<{ search: string }>((tie) => ({
  search: fc.oneof(
    { maxDepth: 3 },
    TERMS,
    TERMS.map((term) => `-${term}`),
    fc.tuple(tie("search"), tie("search")).map(([a, b]) => `${a} ${b}`),
    fc.tuple(tie("search"), tie("search")).map(([a, b]) => `(${a} OR ${b})`),
    tie("search").map((one) => `NOT (${one})`),
  ),
})).search;

Deno.test({
  name: "searchCondition finds what an evaluation in plain code finds",
  fn: async () => {
    await using lab = await EngineLab.open();
    await lab.commit(ROWS.map(({ host, raw, attributes }, at) => ({
      ns: START_NS + BigInt(at) * 1_000_000_000n,
      host,
      raw,
      attributes: JSON.stringify(attributes),
    })));
    let found = 0;
    await fc.assert(
      fc.asyncProperty(SEARCHES, async (text) => {
        const search = parseSearch(text);
        const condition = searchCondition(search, EVENTS);
        const { rows } = await lab.query(
          `SELECT raw FROM events WHERE ${condition} ORDER BY timestamp`,
        );
        const wanted = ROWS.filter((row) => finds(search, row)).map(({ raw }) => [raw]);
        found += wanted.length;
        deepStrictEqual(rows, wanted, `${text}\n${condition}`);
      }),
      { numRuns: RUNS },
    );
    ok(found > RUNS, "searches find rows");
  },
});

Deno.test({
  name: "searchCondition makes literals of whatever a text has",
  fn: async () => {
    await using lab = await EngineLab.open();
    await lab.commit([{ ns: START_NS, raw: "one row" }]);
    const hostile = [
      ...["' OR TRUE --", "'; DROP TABLE events; --", '" OR "1"="1', "\\' OR 1=1 --", "$$x$$"],
      ...["/*", "%_", "\u{1f600}'", "x'||'y", "?", "$1", "\u202e'", "\ud800'"],
    ];
    for (const text of hostile) {
      const quoted = `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
      for (const written of [`${quoted}`, `x:${quoted}`, `${quoted}:x`, `x:>=${quoted}`]) {
        const condition = searchCondition(parseSearch(written), EVENTS);
        const { rows } = await lab.query(`SELECT raw FROM events WHERE ${condition}`);
        deepStrictEqual(rows, [], `${written}\n${condition}`);
      }
    }
  },
});

const CONDITIONS: readonly (readonly [search: string, sql: string])[] = [
  ["error service:checkout", `(match_phrase("raw", 'error')) AND ("source" = 'checkout')`],
  [`raw:""`, `"raw" = ''`],
  ["-time*", `(match_prefix("raw", 'time')) IS NOT TRUE`],
  ["timestamp_ns:>=5", `"timestamp_ns" >= 5`],
  [
    "timestamp:[2026-11-20 TO 2026-11-20T21:04:05Z}",
    `"timestamp" >= CAST('2026-11-20T00:00:00.000000Z' AS TIMESTAMPTZ) AND ` +
    `"timestamp" < CAST('2026-11-20T21:04:05.000000Z' AS TIMESTAMPTZ)`,
  ],
  ["a.b:x", `attr_get(attributes, 'a.b') = 'x'`],
  ["$.a.b:x", `(attributes ->> '$.a.b') = 'x'`],
  ["attributes.$.a.b:>=5", `TRY_CAST((attributes ->> '$.a.b') AS DOUBLE) >= CAST('5' AS DOUBLE)`],
  // A path has two names at least, and plain ones.
  ["$.a:x", `attr_get(attributes, '$.a') = 'x'`],
];

Deno.test({
  name: "searchCondition writes the conditions of the table",
  fn() {
    for (const [search, sql] of CONDITIONS) {
      strictEqual(searchCondition(parseSearch(search), EVENTS), sql, search);
    }
  },
});

Deno.test({
  name: "searchCondition refuses what a field cannot be, with its place",
  fn() {
    const refused: readonly (readonly [string, RegExp])[] = [
      ["x timestamp:>=soon", /Cannot compare timestamp with "soon": write a date/],
      ["x timestamp_ns:many", /Cannot compare timestamp_ns with "many": write a number/],
      ["x level:>=loud", /Cannot compare a level with "loud": write one of trace, debug/],
    ];
    for (const [text, why] of refused) {
      throws(
        () => searchCondition(parseSearch(text), EVENTS),
        (error) =>
          error instanceof SearchError && why.test(error.message) && error.span.start === 2,
        text,
      );
    }
    const traces = { columns: TRACES_SCHEMA.columns, texts: [] };
    throws(() => searchCondition(parseSearch("word"), traces), /no text: name a field/);
    strictEqual(searchCondition(parseSearch("service:x"), traces), `"service" = 'x'`);
  },
});
