import { DuckDBInstance } from "@duckdb/node-api";
import { deepStrictEqual } from "node:assert/strict";
import fc from "fast-check";
import { quoteText } from "./statement_text.ts";

Deno.test("quoteText stands for just its text, whatever that is", async () => {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const part = fc.constantFrom("\0", "'", '"', "\\", "$1", "--", ";", "\n", "a", "é", "🦕");
  const texts = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(""));
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      // The bytes are compared, since a driver might cut what it reads at U+0000.
      const sql = `SELECT hex(encode(${quoteText(text)})), ${quoteText(text)} IN (${
        quoteText(text)
      })`;
      const rows = (await connection.runAndReadAll(sql)).getRows();
      deepStrictEqual(rows, [[hexOf(text), true]]);
    }),
    { examples: [["a\0b"], ["\0"], [""], ["it's \0'"]] },
  );
  connection.closeSync();
  instance.closeSync();
});

function hexOf(text: string): string {
  return new TextEncoder().encode(text).toHex().toUpperCase();
}
