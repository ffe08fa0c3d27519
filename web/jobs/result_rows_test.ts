import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import type { Value } from "../api/sql_client.ts";
import { csvLine, resultPieces } from "./result_rows.ts";

async function* inPieces(text: string, cuts: readonly number[]): AsyncGenerator<string> {
  const places = [...cuts.map((cut) => cut % (text.length + 1)), text.length].toSorted((a, b) =>
    a - b
  );
  let from = 0;
  for (const to of places) {
    yield text.slice(from, to);
    from = to;
  }
  await Promise.resolve();
}

async function rowsOf(texts: AsyncIterable<string>): Promise<readonly (readonly Value[])[]> {
  const rows: (readonly Value[])[] = [];
  for await (const piece of resultPieces(texts)) rows.push(...piece.rows);
  return rows;
}

const VALUE = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Value>;

Deno.test({
  name: "resultPieces gives the rows of a records answer, however its text is cut",
  async fn() {
    const rows = fc.array(fc.array(VALUE, { maxLength: 4 }), { maxLength: 6 });
    const columns = fc.array(fc.string(), { maxLength: 4 });
    const cuts = fc.array(fc.nat(), { maxLength: 8 });
    await fc.assert(fc.asyncProperty(rows, columns, cuts, async (rows, columns, cuts) => {
      const row_count = rows.length;
      const text = JSON.stringify({ columns, row_count, rows, cost: { rows: [[1]] }, stats: {} });
      fc.pre(!/\d{16}/.test(text)); // The next test is about these.
      deepStrictEqual(await rowsOf(inPieces(text, cuts)), JSON.parse(text).rows);
      for await (const { head } of resultPieces(inPieces(text, cuts))) {
        deepStrictEqual([head.columns, head.row_count], [columns, row_count]);
      }
    }));
  },
});

Deno.test({
  name: "resultPieces keeps every digit, and refuses an answer that ends in the middle",
  async fn() {
    const text = '{"columns":["n"],"row_count":2,"rows":[[9007199254740993],[1.5]]}';
    deepStrictEqual(await rowsOf(inPieces(text, [])), [["9007199254740993"], [1.5]]);
    for (const end of [5, 45, 60]) {
      await rejects(rowsOf(inPieces(text.slice(0, end), [])), SyntaxError);
    }
  },
});

Deno.test({
  name: "csvLine writes RFC 4180: texts in quotes, null as an empty cell",
  fn() {
    strictEqual(
      csvLine([1, true, null, "", 'a "b"\n', { x: [1] }]),
      '1,true,,"","a ""b""\n","{""x"":[1]}"\r\n',
    );
  },
});
