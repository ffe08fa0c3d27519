import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { EngineLab } from "../../testing/engine_lab.ts";
import { regexSize } from "./regex_size.ts";
import { globPieces, isQuick, likePieces, likeText, ordered } from "./wildcard_pattern.ts";

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

/**
 * Few letters, so that patterns match; some that mean something to LIKE, GLOB, regular expressions
 * or SQL.
 */
const LETTERS = ["a", "A", "b", "é", "É", "漢", "\n", "%", "_", "\\", "*", "?", ".", "(", "'", " "];
const textOfLetters = (maxLength: number) =>
  fc.array(fc.constantFrom(...LETTERS), { maxLength }).map((letters) => letters.join(""));
const WILDCARDS = ["%", "_", "*", "?", "%_", "%%"];
const patternOf = fc.array(
  fc.oneof(fc.constantFrom(...LETTERS), fc.constantFrom(...WILDCARDS)),
  { maxLength: 9 },
).map((parts) => parts.join(""));

const OPERATORS = [
  ...["LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE", "GLOB"].map(
    (operator) => (text: string, pattern: string) => `${text} ${operator} ${pattern}`,
  ),
  ...["LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"].map((operator) => (text: string, pattern: string) =>
    `${text} ${operator} ${pattern} ESCAPE '!'`
  ),
];

const TRIPLES = fc.sample(
  fc.tuple(textOfLetters(10), patternOf, fc.constantFrom(...OPERATORS)),
  { numRuns: 800, seed: 22 },
);
/** Columns of one statement. */
const COLUMNS = 50;

Deno.test({
  name: "patterns match what DuckDB's own matcher matches, constant or not, quickly matched or not",
  fn: async () => {
    await using lab = await EngineLab.open();
    const duckdb = await (await DuckDBInstance.create(":memory:")).connect();
    let dear = 0;
    for (let first = 0; first < TRIPLES.length; first += COLUMNS) {
      const some = TRIPLES.slice(first, first + COLUMNS);
      const texts = some.map(([text, pattern], at) =>
        `${quoted(text)} AS t${at}, ${quoted(pattern)} AS p${at}`
      );
      const conditions = some.map(([, pattern, operator], at) =>
        `${operator(`t${at}`, quoted(pattern))}, TRY(${operator(`t${at}`, `p${at}`)})`
      );
      dear += some.filter(([, pattern]) => !isQuick(likePieces(pattern) ?? [])).length;
      const sql = `SELECT ${conditions.join(", ")} FROM (SELECT ${texts.join(", ")})`;
      const [own] = (await lab.query(sql)).rows;
      const [native] = (await duckdb.runAndReadAll(sql)).getRows();
      some.forEach(([text, pattern, operator], at) => {
        const shown = JSON.stringify([text, operator("x", pattern)]);
        strictEqual(own?.[2 * at], native?.[2 * at], `constant: ${shown}`);
        // What is refused where it is no constant is NULL here.
        const value = own?.[2 * at + 1];
        if (value !== null) strictEqual(value, native?.[2 * at + 1], `of a row: ${shown}`);
      });
    }
    ok(dear > 100, `${dear} patterns go back`);
    duckdb.closeSync();
  },
});

Deno.test({
  name: "NULL as a text or a pattern gives NULL, and a pattern that ends in its escape is refused",
  fn: async () => {
    await using lab = await EngineLab.open();
    const row = "(SELECT NULL::VARCHAR AS n, '%a%_b%c' AS p, 'xaxbxc' AS t)";
    const cases = [
      "n LIKE '%a%_b%c'",
      "n NOT ILIKE '%a%b%c'",
      "n GLOB '*a*b*c'",
      "t LIKE n",
      "n LIKE p",
    ];
    deepStrictEqual((await lab.query(`SELECT ${cases.join(", ")} FROM ${row}`)).rows, [
      cases.map(() => null),
    ]);
    await rejects(lab.query(`SELECT t LIKE '%a%_b%c!' ESCAPE '!' FROM ${row}`), {
      reason: "refused_pattern",
    });
  },
});

Deno.test({
  name: "an escape of more than a byte is refused as DuckDB does, whatever the pattern",
  fn: async () => {
    await using lab = await EngineLab.open();
    await lab.commit([{ ns: 1_790_000_000_000_000_000n, raw: "a" }], { derived: true });
    for (const pattern of ["%a%_b%é%", "nowhere%", "%e%e%e%é"]) {
      for (const call of ["LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"]) {
        const sql = `SELECT count(*) FROM events WHERE raw ${call} '${pattern}' ESCAPE 'é'`;
        await rejects(lab.query(sql), /Invalid escape string/, sql);
      }
    }
  },
});

Deno.test({
  name: "a pattern of many wildcards over 20,000 lines takes no longer than a regular expression",
  fn: async () => {
    await using lab = await EngineLab.open();
    const lines =
      "(SELECT 'GET /index/' || i || ' the request took some time, as requests do' AS raw " +
      "FROM range(20000) t(i))";
    // DuckDB's own matcher takes minutes for each, and is stopped by nothing.
    for (
      const condition of [
        "raw LIKE '%_%_%_%_%_%_%_%_%_%_%_%zz'",
        "raw ILIKE '%e%e%e%e%e%e%e%e%ZZ'",
        "raw GLOB '*e*e*e*e*e*e*e*zz'",
        "raw LIKE '%e!%%e%e%e%e%e%zz' ESCAPE '!'",
        "raw LIKE '%e%e%e_%e%e%e%zz' || left(raw, 1)",
      ]
    ) {
      const { rows } = await lab.query(`SELECT count(*) FROM ${lines} WHERE ${condition}`);
      deepStrictEqual(rows, [[0]], condition);
    }
  },
});

Deno.test({
  name: "patterns that DuckDB matches quickly run as they were sent, and prune as before",
  fn: async () => {
    await using lab = await EngineLab.open();
    await lab.commit([{ ns: 1_790_000_000_000_000_000n, host: "web-1", raw: "a" }]);
    for (const condition of ["raw LIKE 'a%'", "raw LIKE '%a%b%c%'", "raw GLOB 'a*'"]) {
      const { rows } = await lab.query(`EXPLAIN SELECT raw FROM events WHERE ${condition}`);
      ok(!/regexp|lower/.test(String(rows[0]?.[0])), `${condition}: ${rows[0]?.[0]}`);
    }
    const { rows } = await lab.query("EXPLAIN SELECT raw FROM events WHERE raw LIKE '%a%_%b%'");
    match(String(rows[0]?.[0]).replaceAll(/[\s│]/g, ""), /regexp_full_match/);
  },
});

Deno.test({
  name: "regular expressions that are no constant, or too large, are refused by name and size",
  fn: async () => {
    await using lab = await EngineLab.open();
    const cases: readonly (readonly [sql: string, message: RegExp])[] = [
      [
        "SELECT regexp_matches('a', '((a?){1000}){10}')",
        /Cannot match regexp_matches with "\(\(a\?\)\{1000\}\)\{10\}", of size \d+: at most 2048/,
      ],
      [
        "SELECT regexp_matches(x, x || '{1000}') FROM (SELECT 'a' AS x)",
        /regular expression that is no constant may have 256 characters/,
      ],
      ["SELECT 'a' GLOB '*[ab]*c*d'", /GLOB with "\*\[ab\]\*c\*d".*regexp_full_match/],
      ["SELECT 'a' ILIKE '%a%b%c' ESCAPE 'x'", /an escape of ILIKE is no letter/],
    ];
    for (const [sql, message] of cases) {
      await rejects(lab.query(sql), (error: Error) => {
        match(error.message, message);
        return true;
      });
    }
    deepStrictEqual(
      (await lab.query(
        "SELECT regexp_extract(x, '(' || y || '+)', 1) FROM (SELECT 'baac' AS x, 'a' AS y)",
      ))
        .rows,
      [["aa"]],
    );
  },
});

Deno.test({
  name: "regexSize counts what is repeated as often as it is repeated",
  fn() {
    const cases: readonly (readonly [pattern: string, least: number, most: number])[] = [
      ["abc", 3, 3],
      ["a{10}", 10, 10],
      ["(ab){10}", 20, 30],
      ["((a?){10}){10}", 100, 220],
      ["[a-z\\]]{5}\\d{3}", 8, 8],
      ["a{2,}", 3, 3],
      ["a{2,7}", 7, 7],
      ["\\{10\\}", 4, 4],
      ["(?i)(?P<x>a)\\p{Greek}", 2, 14],
      ["[".repeat(200_000), 200_000, 200_000],
    ];
    for (const [pattern, least, most] of cases) {
      const size = regexSize(pattern);
      ok(size >= least && size <= most, `${pattern}: ${size}`);
    }
  },
});

Deno.test({
  name: "ordered puts wildcards between two texts in order, and what is left may be plain",
  fn() {
    const cases: readonly (readonly [pattern: string, text: string | undefined, quick: boolean])[] =
      [
        ["%_%_%zz", "__%zz", true],
        ["a%%%b", "a%b", true],
        ["%a%_%b", "%a_%b", false],
        ["_%_", "__%", true],
      ];
    for (const [pattern, text, quick] of cases) {
      const pieces = ordered(likePieces(pattern) ?? []);
      strictEqual(likeText(pieces), text, pattern);
      strictEqual(isQuick(pieces), quick, pattern);
    }
    deepStrictEqual(globPieces("a\\*?*%"), [{ text: "a*" }, "one", "any", { text: "%" }]);
    strictEqual(globPieces("a[b]"), undefined);
    strictEqual(globPieces("a\\"), undefined);
  },
});
