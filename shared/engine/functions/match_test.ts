import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { tokenize } from "../../derived/text/tokenize.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { leastOf } from "../../testing/least_of.ts";
import { SURELY_NFC } from "./match.ts";

const TOKENS: readonly (readonly [text: string, tokens: readonly string[]])[] = [
  ["", []],
  [" \t-- ", []],
  ["Failed password for ROOT", ["failed", "password", "for", "root"]],
  ["user_id=7, v1.2", ["user_id", "7", "v1", "2"]],
  ["don't (a+b)*c", ["don", "t", "a", "b", "c"]],
  ["ÉCOLE e\u0301cole", ["école", "école"]],
  ["接続が失敗 error", ["接", "続", "が", "失", "敗", "error"]],
  ["Привет МИР", ["привет", "мир"]],
  ["a🙂b", ["a", "b"]],
];

/** Value, and the call; worked out by hand from the table above and docs/api/query.md#functions. */
const LINE = "'Failed password for invalid user ROOT from 10.0.0.7'";
const CASES: readonly (readonly [value: boolean | null, sql: string])[] = [
  [true, `match_terms(${LINE}, 'root failed')`],
  [true, `match(${LINE}, 'root failed')`],
  [false, `match_terms(${LINE}, 'root accepted')`],
  [false, `match_terms(${LINE}, 'pass')`],
  [true, `match_terms(${LINE}, '10.0.0.7')`],
  [true, `match_any(${LINE}, 'accepted root')`],
  [false, `match_any(${LINE}, 'accepted pass')`],
  [true, `match_phrase(${LINE}, 'invalid USER root')`],
  [true, `match_phrase(${LINE}, 'user; root')`],
  [false, `match_phrase(${LINE}, 'user invalid')`],
  [false, `match_phrase(${LINE}, 'invalid root')`],
  [true, `match_prefix(${LINE}, 'pass')`],
  [true, `match_prefix(${LINE}, 'for inv')`],
  [false, `match_prefix(${LINE}, 'word')`],
  [false, `match_prefix(${LINE}, 'pass for')`],
  [false, "match_prefix('cafe' || chr(769), 'cafe')"],
  [true, "match_prefix('cafes' || chr(769), 'cafe')"],
  [true, "match_terms('接続が失敗', '敗')"],
  [true, "match_phrase('接続が失敗', '失敗')"],
  [false, "match_phrase('接続が失敗', '敗失')"],
  [true, "match_terms('caf' || chr(233), 'CAFE' || chr(769))"],
  [true, `match_terms('it''s [a].*(b)\\c', 'a b c')`],
  [false, `match_terms('abc', 'a.c')`],
  [false, `match_any('abc', '.* [a-z]+')`],
  [false, "match_terms('abc', '')"],
  [false, "match_any('abc', ' - ')"],
  [false, "match_phrase('abc', '')"],
  [false, "match_prefix('abc', '')"],
  [false, "match_terms('', 'a')"],
  [null, "match_terms(NULL, 'a')"],
  [null, "match_any('a', NULL)"],
  [null, "match_phrase(NULL, NULL)"],
  [null, "match_prefix('a', NULL)"],
];

Deno.test({
  name: "tokenize cuts each text of the table",
  fn() {
    for (const [text, tokens] of TOKENS) deepStrictEqual(tokenize(text), tokens, text);
  },
});

Deno.test({
  name: "match_* by the table, with literal terms and with terms of the row",
  fn: async () => {
    await using lab = await EngineLab.open();
    for (const [value, sql] of CASES) {
      deepStrictEqual((await lab.query(`SELECT ${sql}`)).rows, [[value]], sql);
      const [, name, text, terms] = /^(\w+)\((.*), ([^,]*)\)$/.exec(sql) ?? [];
      const perRow = `SELECT ${name}(x, y) FROM (VALUES (${text}, ${terms}), ('z', 'z')) t(x, y)`;
      deepStrictEqual((await lab.query(perRow)).rows, [[value], [true]], perRow);
    }
  },
});

const LETTERS = [..."abAB19_ .-'\\%éÉßΣσжЖ漢字かナ\u3099ー\u0301🙂\u212aſ"];
const RUNS = Number(Deno.env.get("SVC_TEST_MATCH_RUNS") ?? 6);
const text = fc.array(fc.constantFrom(...LETTERS), { maxLength: 12 })
  .map((letters) => letters.join(""));
const pairs = fc.array(fc.tuple(text, text), { minLength: 20, maxLength: 40 });
const quoted = (value: string) => `'${value.replaceAll("'", "''")}'`;
const FOUR = (x: string, y: string) =>
  ["match_terms", "match_any", "match_phrase", "match_prefix"]
    .map((name) => `${name}(${x}, ${y})`).join(", ");

Deno.test({
  name: "match_* agree with tokenize where the words differ by row",
  fn: async () => {
    await using lab = await EngineLab.open();
    await fc.assert(
      fc.asyncProperty(pairs, async (pairs) => {
        const values = pairs.map(([x, y], n) => `(${n}, ${quoted(x)}, ${quoted(y)})`).join(", ");
        const { rows } = await lab.query(
          `SELECT ${FOUR("x", "y")} FROM (VALUES ${values}) t(n, x, y) ORDER BY n`,
        );
        strictEqual(rows.length, pairs.length);
        for (const [n, [x, y]] of pairs.entries()) {
          deepStrictEqual(rows[n], expected(x, y), `${x}|${y}`);
        }
      }),
      { numRuns: RUNS },
    );
  },
});

Deno.test({
  name: "match_* agree with tokenize where the words are a literal",
  fn: async () => {
    await using lab = await EngineLab.open();
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { minLength: 40, maxLength: 60 }),
        text,
        async (texts, words) => {
          // Parts of texts, so that much is found.
          for (const y of [words, texts.join("").slice(3, 6), texts.slice(0, 2).join(" ")]) {
            const values = texts.map((x, n) => `(${n}, ${quoted(x)})`).join(", ");
            const { rows } = await lab.query(
              `SELECT ${
                FOUR("x", quoted(y))
              } FROM (VALUES ${values}, (1000, NULL)) t(n, x) ORDER BY n`,
            );
            for (const [n, x] of texts.entries()) {
              deepStrictEqual(rows[n], expected(x, y), `${x}|${y}`);
            }
            deepStrictEqual(rows.at(-1), [null, null, null, null]);
          }
        },
      ),
      { numRuns: RUNS },
    );
  },
});

/** What the four functions are by their definition, on lists of tokens. */
function expected(text: string, terms: string): boolean[] {
  const [tokens, wanted] = [tokenize(text), tokenize(terms)];
  if (wanted.length === 0) return [false, false, false, false];
  const runs = (same: (token: string, term: string, last: boolean) => boolean) =>
    tokens.some((_, at) =>
      wanted.every((term, i) => {
        const token = tokens[at + i];
        return token !== undefined && same(token, term, i === wanted.length - 1);
      })
    );
  return [
    wanted.every((term) => tokens.includes(term)),
    wanted.some((term) => tokens.includes(term)),
    runs((token, term) => token === term),
    runs((token, term, last) => last ? token.startsWith(term) : token === term),
  ];
}

Deno.test({
  name:
    "match_* with more words than are looked for at once, or longer ones, are refused by their number",
  fn: async () => {
    await using lab = await EngineLab.open();
    const many = Array.from({ length: 257 }, (_, n) => `w${n}`).join(" ");
    for (const name of ["match_terms", "match_any", "match_phrase", "match_prefix"]) {
      for (const words of [many, "a".repeat(200_000)]) {
        await rejects(lab.query(`SELECT ${name}('x y', '${words}')`), {
          code: "invalid_argument",
          message: /Cannot look for .* at once: match_\w+ takes 256 words of 8192 characters/,
        });
      }
      const most = many.slice(3);
      const { rows } = await lab.query(
        `SELECT ${name}(x, '${most}') FROM (VALUES (1, 'x y'), (2, '${most}')) t(n, x) ORDER BY n`,
      );
      deepStrictEqual(rows, [[false], [true]], name);
    }
    const repeated = "ab cd ".repeat(5_000);
    deepStrictEqual((await lab.query(`SELECT match_any('x cd', '${repeated}')`)).rows, [[true]]);
  },
});

Deno.test({
  name: "match_* with words that differ by row refuse texts too long to be cut, and say what helps",
  fn: async () => {
    await using lab = await EngineLab.open();
    const sql = (length: number) =>
      `SELECT match_phrase(repeat('a', ${length}), y) FROM (VALUES ('a'), ('b')) t(y)`;
    deepStrictEqual((await lab.query(sql(8_192))).rows, [[false], [false]]);
    await rejects(lab.query(sql(8_193)), /up to 8192 characters .* write them as one/);
  },
});

Deno.test({
  name: "match_* with a literal are stopped in time on long texts of many words",
  fn: async () => {
    await using lab = await EngineLab.open();
    const rows = "SELECT repeat('a b ', 15000) || range AS x FROM range(20000)";
    for (
      const call of ["match_terms(x, 'a b')", "match_any(x, 'c d')", "match_phrase(x, 'b a c')"]
    ) {
      const tookMs = await leastOf(6_000, async () => {
        const startedMs = performance.now();
        const asked = lab.query(`SELECT count(*) FROM (${rows}) WHERE NOT ${call}`, {
          deadlineMs: 300,
        });
        await rejects(asked, { code: "deadline_exceeded" });
        return performance.now() - startedMs;
      });
      // Cutting 2048 such texts into words took 12 s and more.
      ok(tookMs < 6_000, `${call}: ${tookMs} ms`);
    }
  },
});

Deno.test({
  name: "columns keep the names of the calls that they are made of",
  fn: async () => {
    await using lab = await EngineLab.open();
    const { columns } = await lab.query(
      "SELECT match_terms(x, 'it''s'), count(*) FILTER (WHERE match_any(x, 'a')), NOT match_any(x, 'b') AS mine " +
        "FROM (VALUES ('a')) t(x) GROUP BY ALL",
    );
    deepStrictEqual(columns, [
      "match_terms(x, 'it''s')",
      "count_star() FILTER (WHERE match_any(x, 'a'))",
      "mine",
    ]);
  },
});

Deno.test({
  name: "SURELY_NFC holds only letters that NFC leaves alone, whatever stands before them",
  fn() {
    const ranges = [...SURELY_NFC.matchAll(/\\x\{(\w+)\}-\\x\{(\w+)\}/g)]
      .map(([, first = "", last = ""]) => [parseInt(first, 16), parseInt(last, 16)] as const);
    strictEqual(ranges.length, 16);
    const isSure = (letter: string) => {
      const at = letter.codePointAt(0) ?? 0;
      return ranges.some(([first, last]) => first <= at && at <= last);
    };
    for (let at = 0; at < 0x110000; at += 1) {
      if (at >= 0xd800 && at < 0xe000) continue;
      const letter = String.fromCodePoint(at);
      const [, ...joined] = letter.normalize("NFD");
      if (isSure(letter)) strictEqual(letter.normalize("NFC"), letter, at.toString(16));
      for (const part of joined) ok(!isSure(part), `${part} is joined in ${at.toString(16)}`);
    }
  },
});
