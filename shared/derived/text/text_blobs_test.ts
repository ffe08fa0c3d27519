import assert from "node:assert/strict";
import { utf8 } from "../../base/bytes.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { blobsOfRows } from "../../testing/indexed_rows.ts";
import { hashBytes } from "./hash.ts";
import { TooMuchToIndex } from "./occurrences.ts";
import { TermTable } from "./term_table.ts";
import { FILTER_TYPE } from "./value_filter.ts";
import { VALUES_TYPE } from "./values_format.ts";
import { WORDS_TYPE } from "./words_format.ts";

function intern(table: TermTable, text: string, hash: number): number {
  const bytes = utf8(text);
  table.reserve(bytes.length);
  table.bytes.set(bytes, table.length);
  return table.intern(table.length + bytes.length, hash);
}

Deno.test("TermTable numbers terms by their bytes, also where hashes are alike", () => {
  for (const [count, mask] of [[10_000, -1], [500, 0xff]] as const) {
    const table = new TermTable();
    for (let n = 0; n < 2 * count; n += 1) {
      const text = `term ${n % count}`;
      assert.equal(intern(table, text, hashBytes(utf8(text)) & mask), n % count, text);
    }
    assert.equal(table.count, count);
  }
});

Deno.test("TermTable refuses words that somebody made to have one hash, before they take long", () => {
  const table = new TermTable();
  assert.throws(() => {
    for (let n = 0; n < 100_000; n += 1) intern(table, `term ${n}`, 7);
  }, TooMuchToIndex);
  assert.ok(table.count < 2_000);
});

Deno.test("a file gets one index a text column and one for all others, none without rows", () => {
  const row = {
    ...{ timestamp: 0n, timestamp_ns: 0n, host: "h", source: "s", sourcetype: "t", index: "i" },
    raw: "a word",
    attributes: "{}",
  };
  const fields = (blobs: ReturnType<typeof blobsOfRows>) =>
    blobs.map(({ type, fields }) => [type, fields]);
  assert.deepEqual(fields(blobsOfRows(EVENTS_SCHEMA, [row])), [
    [WORDS_TYPE, [7]],
    [VALUES_TYPE, [3, 4, 5, 6, 8]],
    [FILTER_TYPE, [3, 4, 5, 6]],
  ]);
  assert.deepEqual(fields(blobsOfRows(EVENTS_SCHEMA, [row], { text: [] })), [
    [VALUES_TYPE, [3, 4, 5, 6, 7, 8]],
    [FILTER_TYPE, [3, 4, 5, 6, 7]],
  ]);
  assert.deepEqual(blobsOfRows(EVENTS_SCHEMA, [], { batchRows: 1 }), []);
});
