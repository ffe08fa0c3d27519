import assert from "node:assert/strict";
import { decodeBatch, encodeBatch } from "../columns/ipc.ts";
import { batchOfRows } from "../columns/rows.ts";
import type { TableSchema } from "../schema/schema.ts";
import { INLINE_DERIVER, inlineDeriver, openDeriver } from "./deriver.ts";
import { readPuffinTail } from "./puffin.ts";
import { GROUP_COUNTS_BLOB } from "./summary/summary_blobs.ts";
import type { FileRows } from "./types.ts";

const SCHEMA: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true },
    { id: 2, name: "timestamp_ns", type: "long", required: true },
    { id: 3, name: "host", type: "string", required: true },
    { id: 4, name: "raw", type: "string", required: true },
    { id: 5, name: "took", type: "double", required: false },
    { id: 6, name: "shard", type: "string", required: false },
  ],
  tags: ["host"],
  promoted: ["shard"],
};
const SUBJECT = { key: "svc/events-1/data/x.parquet", rows: 4_000 };

/** Its columns are views of one buffer a batch, as those of a WAL segment's frames are. */
function fileOf(text: FileRows["text"]): FileRows {
  const batches = [0, 2_000].map((first) => {
    const rows = Array.from({ length: 2_000 }, (_, at) => ({
      timestamp: BigInt(first + at) * 1_000_000n,
      timestamp_ns: BigInt(first + at) * 1_000_000_000n,
      host: `h${at % 7}`,
      raw: `line ${first + at}`,
      took: at % 3 === 0 ? null : at / 4,
      shard: at % 5 === 0 ? null : `s${at % 4}`,
    }));
    const { pieces } = encodeBatch(batchOfRows(SCHEMA, rows));
    return decodeBatch(new Uint8Array(pieces.flatMap((piece) => [...piece])), SCHEMA);
  });
  return { schema: SCHEMA, rows: 4_000, batches, text, rowGroupRows: 1_000 };
}

Deno.test("a deriving thread gives what the caller would derive, with and without words", async () => {
  using thread = openDeriver({});
  for (const text of [undefined, [{ name: "raw", tokenizer: "default" } as const]]) {
    const sidecar = await thread.derive(fileOf(text), SUBJECT);
    assert.deepEqual(sidecar, await INLINE_DERIVER.derive(fileOf(text), SUBJECT));
    const tail = readPuffinTail(sidecar, { size: sidecar.byteLength, what: "the sidecar" });
    const blobs = "footer" in tail ? tail.footer.blobs : [];
    assert.equal(blobs.some(({ type }) => type.startsWith("svc-words")), text !== undefined);
    // Numbers measured by tag and by promoted column: every kind of column was sent.
    const fields = blobs.map((blob) => String(blob.fields));
    assert.ok(fields.includes("3,5") && fields.includes("6,5"), fields.join(" "));
  }
});

Deno.test("a deriving thread counts a column within the limits of its deriver, and beyond them beside the summary", async () => {
  const limits = { groupValuesMax: 6 };
  using thread = openDeriver(limits);
  const sidecar = await thread.derive(fileOf([]), SUBJECT);
  assert.deepEqual(sidecar, await inlineDeriver(limits).derive(fileOf([]), SUBJECT));
  const tail = readPuffinTail(sidecar, { size: sidecar.byteLength, what: "the sidecar" });
  const blobs = "footer" in tail ? tail.footer.blobs : [];
  const typesOf = (field: number) =>
    blobs.filter(({ fields }) => String(fields) === String(field)).map(({ type }) => type);
  // Seven hosts, four shards and NULL.
  assert.ok(typesOf(3).includes("svc-value-counts-v1") && !typesOf(3).includes(GROUP_COUNTS_BLOB));
  assert.ok(typesOf(6).includes(GROUP_COUNTS_BLOB));
});
