/** Which rows of a file a scan is told, by where DuckDB finds an attribute. */

import assert from "node:assert/strict";
import type { RowQuery } from "../../derived/rows/row_query.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import type { Column, TableSchema } from "../../schema/schema.ts";
import { dataFile } from "../../testing/data_file.ts";
import { selectOfFile } from "./file_selection.ts";

const USER: Column = { id: 100, name: "attributes:user.id", type: "string", required: false };
const STORED: TableSchema = {
  ...EVENTS_SCHEMA,
  columns: [...EVENTS_SCHEMA.columns, USER],
  promoted: [USER.name],
};
const FILE = dataFile({ rows: 60_000 });
/** Each sixth of its granules of 256 rows, which are more than are read of their pages. */
const ROWS = Uint32Array.from({ length: 39 * 256 }, (_, at) => 6 * 256 * (at >> 8) + (at & 255));

const isUser = (name = "user.id"): RowQuery => ({
  kind: "attribute",
  column: "attributes",
  name,
  values: ["u1"],
});
const hasWord: RowQuery = { kind: "terms", column: "raw", mode: "all", text: "boom" };

async function selected(query: RowQuery, isComplete: boolean) {
  const { parts } = await selectOfFile(FILE, {
    plan: { schema: EVENTS_SCHEMA, stored: STORED, isComplete: () => isComplete },
    query,
  }, {
    indexes: { rows: () => Promise.resolve({ kind: "rows", rows: ROWS }) },
    store: { rootUri: "memory://" } as never,
    path: ({ key }) => key,
    footer: () => Promise.reject(new Error("none")),
  });
  assert.equal(parts.length, 1);
  return parts[0];
}

Deno.test("a scan is told the rows that an index leaves where an attribute is looked up in JSON", async () => {
  for (
    const [isTold, query, isComplete] of [
      [true, isUser(), false],
      [false, isUser(), true],
      [true, isUser("host.id"), true],
      [true, hasWord, true],
      [true, { kind: "and", of: [hasWord, isUser()] }, true],
      [false, { kind: "or", of: [isUser(), isUser()] }, true],
    ] as const
  ) {
    const part = await selected(query, isComplete);
    assert.equal(part?.isTold, isTold, `${JSON.stringify(query)}, complete: ${isComplete}`);
  }
});
