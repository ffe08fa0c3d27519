import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { tokenize } from "../../event/tokenize.ts";
import { EngineLab } from "../../testing/engine_lab.ts";

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

/** Value, and the call; worked out by hand from the table above and SPEC.md 4.2. */
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

Deno.test({
  name: "match_* agree with tokenize",
  fn: async () => {
    await using lab = await EngineLab.open();
    const letter = fc.constantFrom(..."abAB19_ .-'\\%éÉßΣσжЖ漢字かナー\u0301🙂");
    const text = fc.array(letter, { maxLength: 12 }).map((letters) => letters.join(""));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(text, text), { minLength: 20, maxLength: 40 }),
        async (pairs) => {
          const quoted = (value: string) => `'${value.replaceAll("'", "''")}'`;
          const values = pairs.map(([x, y], n) => `(${n}, ${quoted(x)}, ${quoted(y)})`).join(", ");
          const { rows } = await lab.query(
            "SELECT match_terms(x, y), match_any(x, y), match_phrase(x, y), match_prefix(x, y) " +
              `FROM (VALUES ${values}) t(n, x, y) ORDER BY n`,
          );
          strictEqual(rows.length, pairs.length);
          for (const [n, [x, y]] of pairs.entries()) {
            deepStrictEqual(rows[n], expected(x, y), `${x}|${y}`);
          }
        },
      ),
      { numRuns: 25 },
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
  name: "match_* take terms of any length",
  fn: async () => {
    await using lab = await EngineLab.open();
    for (const giant of ["a".repeat(200_000), "ab cd ".repeat(30_000)]) {
      for (const name of ["match_terms", "match_any", "match_phrase", "match_prefix"]) {
        const { rows } = await lab.query(`SELECT ${name}('x y', '${giant}')`);
        deepStrictEqual(rows, [[false]], name);
      }
      deepStrictEqual((await lab.query(`SELECT match_any('x y', '${giant} y')`)).rows, [[true]]);
    }
  },
});
