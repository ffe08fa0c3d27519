import { deepStrictEqual, ok } from "node:assert/strict";
import fc from "fast-check";
import { EngineLab } from "../../testing/engine_lab.ts";

const RUNS = Number(Deno.env.get("SVC_TEST_SEARCH_RUNS") ?? 8);
const PIECES = [
  ..."ab =\"'\\,;&)]}é漢.-_1",
  ...["id", "id=", " id=", 'id="', "id='", ' id="a\\"b"', "\n", "\t", "x.id=", "\u2028", "🙂"],
];
const texts = fc.array(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((pieces) => pieces.join("")),
  { minLength: 60, maxLength: 80 },
);

/** What the function is to give, by an expression that takes each kind of value apart. */
function valueIn(text: string): string | null {
  const found = /(?:^|[^\w.-])id=(?:"((?:[^"\\]|\\[^\n])*)"|'([^']*)'|([^\t\n\f\r ,;&"')\]}]*))/u
    .exec(text);
  if (found === null) return null;
  const [, double, single, bare] = found;
  return double?.replaceAll(/\\(["\\])/gu, "$1") ?? single ?? bare ?? "";
}

Deno.test({
  name: "kv_extract gives the first value of a name, of each kind, over random texts",
  fn: async () => {
    await using lab = await EngineLab.open();
    const kinds = new Set<string>();
    await fc.assert(
      fc.asyncProperty(texts, async (texts) => {
        const values = texts.map((text, n) => `(${n}, '${text.replaceAll("'", "''")}')`).join(", ");
        const { rows } = await lab.query(
          `SELECT kv_extract(t, 'id'), kv_extract(t, lower('ID') || x) FROM
            (VALUES ${values}) v(n, t), (VALUES ('')) w(x) ORDER BY n`,
        );
        const expected = texts.map(valueIn);
        deepStrictEqual(rows, expected.map((value) => [value, value]), JSON.stringify(texts));
        for (const [at, value] of expected.entries()) {
          kinds.add(
            `${value === null ? "none" : value === "" ? "empty" : "some"} ${
              /id="/.test(texts[at] ?? "") ? "quoted" : ""
            }`,
          );
        }
      }),
      { numRuns: RUNS },
    );
    ok(kinds.size === 6, [...kinds].join(", "));
  },
});
