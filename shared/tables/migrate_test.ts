/**
 * Tables brought up to the program's columns, and attributes promoted: additive, once, and no row
 * changed.
 */

import assert from "node:assert/strict";
import { batchOfRows, type RowObject, rowsOf } from "../columns/rows.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { parsePromotion } from "../schema/promoted.ts";
import type { TableSchema } from "../schema/schema.ts";
import { commitAppend, ensureTable } from "../iceberg/commit_append.ts";
import { readParquet } from "../parquet/read_parquet.ts";
import { batchOf, DeleteLab, EVENTS, nsOf, numbersFrom } from "../testing/delete_lab.ts";
import { DataFileWriter } from "./data_file_writer.ts";
import { sweepDeleteTasks } from "../upkeep/delete_loop.ts";
import { fitTo } from "./fit_schema.ts";
import { applyMigration } from "./migrate.ts";

const STATUS = parsePromotion("http.status:int");
const ODD = parsePromotion("odd:string");
const OLDER: TableSchema = {
  columns: EVENTS_SCHEMA.columns.filter(({ name }) => name !== "attributes"),
  tags: ["host"],
};

Deno.test({
  name: "applyMigration gives an older table what it lacks, once",
  async fn() {
    await using lab = await DeleteLab.open();
    const { deps } = lab;
    await ensureTable(deps, { ident: EVENTS, schema: OLDER });
    const plan = await applyMigration(deps, EVENTS);
    assert.deepEqual(plan?.added.map(({ name }) => name), ["attributes"]);
    const table = await lab.load();
    assert.deepEqual(
      table?.schema.columns.map(({ id, name, type }) => ({ id, name, type })),
      EVENTS_SCHEMA.columns.map(({ id, name, type }) => ({ id, name, type })),
    );
    assert.deepEqual(table?.schema.tags, EVENTS_SCHEMA.tags);
    assert.equal(table?.metadata.properties["svc.schema-version"], "1");
    const again = await applyMigration(deps, EVENTS);
    assert.equal(again?.isChange, false);
    assert.equal((await lab.load())?.metadataLocation, table?.metadataLocation);
    await lab.commit([1, 2]);
    assert.deepEqual(await lab.numbers(), [1, 2]);
    assert.equal(await applyMigration(deps, { ...EVENTS, name: "none" }), undefined);
  },
});

Deno.test({
  name: "applyMigration of several at once ends with one table",
  async fn() {
    await using lab = await DeleteLab.open();
    await ensureTable(lab.deps, { ident: EVENTS, schema: OLDER });
    await Promise.all([
      applyMigration(lab.deps, EVENTS, [STATUS]),
      applyMigration(lab.deps, EVENTS, [ODD]),
      applyMigration(lab.deps, EVENTS, [STATUS, ODD]),
    ]);
    const { schema } = await lab.load() ?? {};
    assert.deepEqual([...schema?.promoted ?? []].sort(), ["http.status", "odd"]);
    assert.equal(new Set(schema?.columns.map(({ id }) => id)).size, 10);
  },
});

Deno.test({
  name:
    "a promoted column is filled for rows that come, and for those that are there when their file is rewritten",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit(numbersFrom(0, 6));
    assert.deepEqual((await applyMigration(lab.deps, EVENTS, [ODD]))?.promoted, ["odd"]);
    await append(lab, numbersFrom(10, 4));
    const odd = (n: number) => n % 2 === 1 ? "yes" : null;
    assert.deepEqual(await valuesOf(lab, "odd"), [
      ...numbersFrom(0, 6).map((n) => [n, null]),
      ...numbersFrom(10, 4).map((n) => [n, odd(n)]),
    ]);
    await lab.submit("raw IN ('2', '11')");
    await sweepDeleteTasks(lab.deps);
    const kept = [0, 1, 3, 4, 5, 10, 12, 13];
    assert.deepEqual(await valuesOf(lab, "odd"), kept.map((n) => [n, odd(n)]));
  },
});

Deno.test({
  name:
    "a promoted column that was filled keeps its values when other rows of the batch gain theirs",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit([0]);
    await applyMigration(lab.deps, EVENTS, [STATUS]);
    const table = await lab.load();
    assert.ok(table !== undefined);
    const attributes = ['{"http.status":503}', '{"http.status":"x"}', '{"a":1}', null];
    const rows: RowObject[] = attributes.map((text, at) => ({
      ...rowsOf(batchOf([at]))[0],
      attributes: text,
      "http.status": at === 2 ? 7 : null,
    }));
    const writer = new DataFileWriter(lab.deps, table);
    await writer.add(batchOfRows(table.schema, rows));
    const [file] = await writer.finish();
    assert.ok(file !== undefined);
    assert.equal(file.nullCounts.get(STATUS.id), 2);
    for await (const batch of readParquet(await lab.store.get(file.key), file.key)) {
      const values = rowsOf(batch).map((row) => row["http.status"]);
      assert.deepEqual(values, [503, null, 7, null]);
    }
  },
});

/** Appends as the drain does: rows in the columns of a segment, fitted to the table. */
async function append(lab: DeleteLab, numbers: readonly number[]): Promise<void> {
  const { deps } = lab;
  const table = await ensureTable(deps, { ident: EVENTS, schema: EVENTS_SCHEMA });
  const writer = new DataFileWriter(deps, table);
  await writer.add(fitTo(table.schema, EVENTS_SCHEMA.columns)(batchOf(numbers)));
  const change = { ident: EVENTS, schema: EVENTS_SCHEMA, consumed: [] };
  await commitAppend(deps, { ...change, files: await writer.finish() });
}

/** Each row's number and its value of `column`, in order of number. */
async function valuesOf(lab: DeleteLab, column: string): Promise<[number, unknown][]> {
  const values: [number, unknown][] = [];
  for (const { key } of await lab.liveFiles()) {
    for await (const batch of readParquet(await lab.store.get(key), key)) {
      for (const row of rowsOf(batch)) {
        assert.equal(row["timestamp_ns"], nsOf(Number(row["raw"])));
        values.push([Number(row["raw"]), row[column] ?? null]);
      }
    }
  }
  return values.sort(([a], [b]) => a - b);
}
