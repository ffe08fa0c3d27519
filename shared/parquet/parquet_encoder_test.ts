import assert from "node:assert/strict";
import { batchOfRows } from "../columns/rows.ts";
import type { TableSchema } from "../schema/schema.ts";
import { INLINE_PARQUET_ENCODER, openParquetEncoder } from "./parquet_encoder.ts";
import { writeParquet } from "./write_parquet.ts";

const SCHEMA: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true },
    { id: 2, name: "timestamp_ns", type: "long", required: true },
    { id: 3, name: "raw", type: "string", required: true },
  ],
  tags: [],
};

Deno.test({
  name: "ParquetEncoder gives the same file on its thread, inline and from writeParquet",
  async fn() {
    const options = { schema: SCHEMA };
    const expected = [batchOf(0, 100), batchOf(100, 3)].map((batch) =>
      writeParquet([batch], options)
    );
    using thread = openParquetEncoder();
    for (const encoder of [thread, INLINE_PARQUET_ENCODER]) {
      const files = await Promise.all([
        encoder.encode(encoder.input([batchOf(0, 100)], SCHEMA), options),
        encoder.encode(encoder.input([batchOf(100, 3)], SCHEMA), options),
      ]);
      assert.deepEqual(files, expected);
    }
  },
});

Deno.test("INLINE_PARQUET_ENCODER.open takes memory for the rows that come, not for those expected", () => {
  using few = INLINE_PARQUET_ENCODER.open(SCHEMA, 2 ** 30);
  few.add(batchOf(0, 3));
  assert.ok(few.finish().stream.buffer.byteLength <= 2 ** 20);
  using many = INLINE_PARQUET_ENCODER.open(SCHEMA, 2 ** 30);
  const batches = [batchOf(0, 10_000), batchOf(10_000, 40_000), batchOf(50_000, 7)];
  for (const batch of batches) many.add(batch);
  const input = many.finish();
  assert.ok(input.stream.byteLength > 2 ** 20);
  assert.deepEqual(input.stream, INLINE_PARQUET_ENCODER.input(batches, SCHEMA).stream);
});

Deno.test({
  name:
    "ParquetEncoder needs no more read permission than packages and shared folders, and does without",
  async fn() {
    const here = new URL(".", import.meta.url).pathname;
    const root = new URL("../..", import.meta.url).pathname;
    const script = `
      import { openParquetEncoder } from ${JSON.stringify(`${here}parquet_encoder.ts`)};
      const schema = ${JSON.stringify(SCHEMA)};
      using encoder = openParquetEncoder();
      const { rows } = await encoder.encode(encoder.input([], schema), {
        schema,
      });
      await Deno.stdout.write(new TextEncoder().encode(String(rows)));
    `;
    const table: string[][] = [
      [`${root}node_modules`, `${root}shared`],
      [`${root}node_modules`],
      // The thread's first file can be read, what it imports cannot.
      [`${root}node_modules`, `${here}parquet_worker.ts`],
    ];
    for (const folders of table) {
      const child = new Deno.Command(Deno.execPath(), {
        args: ["run", "--no-prompt", "--quiet", "--cached-only", `--allow-read=${folders}`, "-"],
        cwd: root,
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const input = child.stdin.getWriter();
      await input.write(new TextEncoder().encode(script));
      await input.close();
      const { stdout, stderr } = await child.output();
      const [text, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
      assert.equal(text, "0", `${folders}: ${errors}`);
    }
  },
});

function batchOf(from: number, rows: number) {
  return batchOfRows(
    SCHEMA,
    Array.from({ length: rows }, (_, at) => {
      const ns = 1_790_000_000_000_000_000n + BigInt(from + at) * 1_000n;
      return { timestamp: ns / 1_000n, timestamp_ns: ns, raw: `line ${from + at}` };
    }),
  );
}
