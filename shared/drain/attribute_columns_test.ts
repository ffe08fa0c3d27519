/**
 * Attributes of rows become columns: of the first rows that a table gets, beside other writers of
 * its schema, and up to a bound.
 */

import assert from "node:assert/strict";
import { encodeBatch } from "../columns/ipc.ts";
import { batchOfRows, type RowObject, rowsOf } from "../columns/rows.ts";
import { completeColumns } from "../iceberg/complete_columns.ts";
import { IcebergReader, type LoadedTable } from "../iceberg/iceberg_reader.ts";
import { readParquet } from "../parquet/read_parquet.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { parsePromotion } from "../schema/promoted.ts";
import { applyMigration } from "../tables/migrate.ts";
import { tableOf } from "../tenant/tenant.ts";
import { DrainLab, EVENTS_LANE } from "../testing/drain_lab.ts";
import type { DrainDeps } from "./drain.ts";
import { drainAll } from "./drain_all.ts";

const EVENTS = tableOf(EVENTS_LANE);
const START_NS = BigInt(Date.UTC(2026, 10, 20, 12)) * 1_000_000n;

/** Seals one segment with a row for each of the texts. */
async function seal(lab: DrainLab, texts: readonly (string | null)[]): Promise<void> {
  const common = { host: "h", source: "s", sourcetype: "t", index: "main" };
  const rows = texts.map((attributes, n): RowObject => {
    const ns = START_NS + BigInt(n) * 1_000_000n;
    return { ...common, timestamp: ns / 1_000n, timestamp_ns: ns, raw: String(n), attributes };
  });
  const wal = await lab.openWal();
  await wal.append(EVENTS_LANE, encodeBatch(batchOfRows(EVENTS_SCHEMA, rows)), "wait_for");
  await wal.seal(EVENTS_LANE);
  await wal.close();
}

function depsOf(lab: DrainLab, attributeColumnsMax = 64): DrainDeps {
  return { ...lab.deps, attributeColumnsMax };
}

async function tableIn(lab: DrainLab): Promise<LoadedTable> {
  const location = await lab.catalog.metadataLocation(EVENTS);
  assert.ok(location !== undefined);
  return await new IcebergReader(lab.deps.store).loadTable(EVENTS, location);
}

/** Names and types of the columns that the table has for attributes. */
async function columnsIn(lab: DrainLab): Promise<Record<string, string>> {
  const { schema } = await tableIn(lab);
  const own = schema.columns.filter(({ name }) => schema.promoted?.includes(name));
  return Object.fromEntries(own.map(({ name, type }) => [name, type]));
}

async function rowsIn(lab: DrainLab): Promise<RowObject[]> {
  const reader = new IcebergReader(lab.deps.store);
  const { files } = await reader.selectFiles(await tableIn(lab));
  const rows: RowObject[] = [];
  for (const { key } of files) {
    for await (const batch of readParquet(await lab.deps.store.get(key), key)) {
      rows.push(...rowsOf(batch));
    }
  }
  return rows;
}

const OTLP = [
  '{"k":"v","status":200,"ms":1.5,"severity_text":"INFO","severity_number":9,"trace_id":"ab"}',
  '{"k":"w","status":404,"ms":2,"severity_text":"WARN","severity_number":13,"trace_id":"cd"}',
  null,
];

Deno.test("a drain makes columns of the attributes of a table's first rows, and fills them", async () => {
  await using lab = await DrainLab.open();
  await seal(lab, OTLP);
  const added: (readonly string[])[] = [];
  const observer = {
    columnsAdded: (_: unknown, columns: readonly string[]) => added.push(columns),
  };
  await drainAll({ ...depsOf(lab), observer });
  const wanted = {
    "attributes.integer:severity_number": "long",
    "attributes:severity_text": "string",
    "attributes.integer:status": "long",
    "attributes.number:ms": "double",
    "attributes:k": "string",
  };
  assert.deepEqual(await columnsIn(lab), wanted);
  assert.deepEqual(added.map((columns) => new Set(columns)), [new Set(Object.keys(wanted))]);
  const [first, , last] = await rowsIn(lab);
  assert.deepEqual(Object.keys(wanted).map((name) => first?.[name]), [9n, "INFO", 200n, 1.5, "v"]);
  assert.deepEqual(Object.keys(wanted).map((name) => last?.[name]), Array(5).fill(null));
  const table = await tableIn(lab);
  const [file] = (await new IcebergReader(lab.deps.store).selectFiles(table)).files;
  assert.ok(file !== undefined);
  assert.equal(completeColumns(file, table.schema).size, 5);
});

Deno.test("a drain makes columns of attributes within nested objects", async () => {
  await using lab = await DrainLab.open();
  await seal(lab, [
    '{"user":{"id":7,"of":{"team":"a"}},"user.id":"flat","list":[{"id":1}]}',
    '{"user":{"id":8,"of":"b","two words":1},"user.id":"flat"}',
    '{"user":"nobody"}',
  ]);
  await drainAll(depsOf(lab));
  const wanted = {
    "attributes.integer:$.user.id": [7n, 8n, null],
    "attributes:$.user.of.team": ["a", null, null],
    "attributes:$.user.of": [null, "b", null],
    "attributes:user.id": ["flat", "flat", null],
    "attributes:user": [null, null, "nobody"],
  };
  assert.deepEqual(new Set(Object.keys(await columnsIn(lab))), new Set(Object.keys(wanted)));
  const rows = await rowsIn(lab);
  for (const [name, values] of Object.entries(wanted)) {
    assert.deepEqual(rows.map((row) => row[name]), values, name);
  }
});

Deno.test("a drain adds columns for what is new, and commits no schema where nothing is", async () => {
  await using lab = await DrainLab.open();
  await seal(lab, ['{"a":1}']);
  await drainAll(depsOf(lab));
  const { schemaId } = await tableIn(lab);
  await seal(lab, ['{"a":2}', null]);
  await drainAll(depsOf(lab));
  assert.equal((await tableIn(lab)).schemaId, schemaId);
  // Other values of the same name get a second column, once enough rows have them.
  await seal(lab, ['{"a":"x","b":true}', '{"a":3}']);
  await drainAll(depsOf(lab));
  assert.deepEqual(await columnsIn(lab), {
    "attributes.integer:a": "long",
    "attributes:a": "string",
    "attributes:b": "string",
  });
  const held = (await rowsIn(lab)).map((row) => String(row["attributes.integer:a"] ?? null));
  assert.deepEqual(held.toSorted(), ["1", "2", "3", "null", "null"]);
});

Deno.test("a drain makes as many columns as it may, the severity and the most frequent first", async () => {
  await using lab = await DrainLab.open();
  const texts = Array.from({ length: 40 }, (_, n) => {
    const rare = n === 0 ? { rare: 1, severity_text: "INFO" } : {};
    return JSON.stringify({
      ...rare,
      always: n,
      ...n < 20 ? { half: n } : {},
      ...n < 3 ? { few: 1 } : {},
    });
  });
  await seal(lab, texts);
  await drainAll(depsOf(lab, 0));
  assert.deepEqual(await columnsIn(lab), {});
  await seal(lab, texts);
  await drainAll(depsOf(lab, 2));
  const two = ["attributes:severity_text", "attributes.integer:always"];
  assert.deepEqual(Object.keys(await columnsIn(lab)), two);
  await seal(lab, texts);
  await drainAll(depsOf(lab));
  const more = ["attributes.integer:half", "attributes.integer:few"];
  assert.deepEqual(Object.keys(await columnsIn(lab)), [...two, ...more]);
});

Deno.test("drains and operators that change the schema at once end with every column once", async () => {
  const status = parsePromotion("status:int");
  for (let at = 0;; at += 1) {
    await using lab = await DrainLab.open(at + 1);
    await seal(lab, ['{"status":200,"k":"v"}']);
    let calls = 0;
    const catalog = new Proxy(lab.catalog, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return async (...args: unknown[]) => {
          if (calls++ === at) {
            await applyMigration(lab.deps, EVENTS, [status]);
            await seal(lab, ['{"status":404,"other":true}', '{"k":"w"}']);
            await drainAll(depsOf(lab));
          }
          return member.apply(target, args);
        };
      },
    });
    await drainAll({ ...depsOf(lab), catalog });
    await drainAll(depsOf(lab));
    const { schema } = await tableIn(lab);
    const names = schema.columns.map(({ name }) => name.toLowerCase());
    assert.equal(new Set(names).size, names.length, `call ${at}`);
    assert.deepEqual(new Set(schema.columns.map(({ id }) => id)).size, names.length, `call ${at}`);
    assert.ok(names.includes("attributes:k"), `call ${at}`);
    for (const row of await rowsIn(lab)) {
      const { status = null, k } = JSON.parse(String(row["attributes"]));
      const held = row["status"] ?? row["attributes.integer:status"] ?? null;
      // A column that came between this drain's schema and its commit is filled by a merge.
      if (held !== null) assert.equal(Number(held), status, `call ${at}`);
      assert.equal(row["attributes:k"] ?? null, k ?? null, `call ${at}`);
    }
    assert.equal((await rowsIn(lab)).length, calls > at ? 3 : 1, `call ${at}`);
    if (calls <= at) {
      assert.ok(at > 5, `a drain makes only ${at} catalog calls`);
      return;
    }
  }
});
