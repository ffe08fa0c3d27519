/**
 * Bulk documents on real processes: several indexes in one request, each a table named like the
 * index. The rows from the WAL, after `commit=force` from the table, and by another reader alone
 * are equal.
 */

import assert from "node:assert/strict";
import { Client } from "@elastic/elasticsearch-9";
import { openSqliteCatalog } from "../../shared/catalog/sqlite_catalog.ts";
import { encodeBatch } from "../../shared/columns/ipc.ts";
import { batchOfRows } from "../../shared/columns/rows.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import type { TableSchema } from "../../shared/schema/schema.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { openWal } from "../../shared/wal/wal.ts";
import { readForeign } from "../equivalence/foreign_reader.ts";
import { Stack } from "./stack.ts";

const INDEXES = ["logs-app.x", "events", "a--b..c_9"];
/** 2026-01-02T03:04:05Z */
const TIME_MS = 1_767_323_045_000;
const PER_INDEX = 20;

function documentOf(i: number) {
  return {
    "@timestamp": new Date(TIME_MS + i).toISOString(),
    host: { name: "node-7" },
    message: `order ${i}`,
    "order.id": i,
    // Half a character, as senders that cut texts leave: its escape is one that SQL's JSON
    // functions refuse.
    cut: "\ud83d",
  };
}

const STATEMENT = (index: string) =>
  `SELECT timestamp, raw, host, attr_get(attributes, 'order.id') AS id, ` +
  `attr_get(attributes, '_id') AS client_id FROM "${index}" ORDER BY timestamp_ns`;

const EXPECTED = Array.from({ length: PER_INDEX }, (_, i) => [
  new Date(TIME_MS + i).toISOString().replace("Z", "000Z"),
  `order ${i}`,
  "node-7",
  String(i),
  `doc-${i}`,
]);

Deno.test({
  name: "bulk documents of several indexes answer SQL from the WAL, the table, and another reader",
  async fn() {
    await using stack = await Stack.start();
    const client = new Client({ node: `${stack.ingestUrl}/api/v1/_compat` });
    const operations = Array.from({ length: PER_INDEX }, (_, i) => i).flatMap((i) =>
      INDEXES.flatMap((index) => [
        { index: { _index: index, _id: `doc-${i}` } },
        documentOf(i),
      ])
    );
    const reply = await client.bulk({ operations });
    assert.equal(reply.errors, false);
    for (const index of INDEXES) {
      assert.deepEqual((await stack.sql(STATEMENT(index))).rows, EXPECTED, `${index} in the WAL`);
    }
    const forced = await client.bulk(
      {
        operations: INDEXES.flatMap((index) => [{ create: { _index: index } }, { message: "end" }]),
      },
      { querystring: { commit: "force" } },
    );
    assert.equal(forced.errors, false);
    await stack.stop("compactor");
    for (const index of INDEXES) {
      const { rows } = await stack.sql(STATEMENT(index));
      assert.deepEqual(rows.slice(0, PER_INDEX), EXPECTED, `${index} in the table`);
      assert.equal(rows.length, PER_INDEX + 1);
      const elsewhere = await readForeign(`${stack.dataDir}/warehouse/catalog.db`, {
        namespace: "svc",
        name: index,
      });
      const raws = elsewhere.rows.map((row) => row.raw).sort();
      assert.deepEqual(raws, rows.map((row) => row[1]).sort());
    }
    await client.close();
  },
});

const LANE = { tenant: "default", index: "typed" };
const TYPED: TableSchema = {
  columns: [...EVENTS_SCHEMA.columns, { id: 9, name: "status", type: "long", required: false }],
  tags: [],
};

/** Makes the table as another writer of the WAL would: the first segment decides its columns. */
async function makeTypedTable(stack: Stack): Promise<void> {
  await stack.stop("ingest");
  {
    await using wal = await openWal({
      root: `${stack.dataDir}/wal`,
      fs: new DenoFileSystem(),
      clock: new SystemClock(),
      random: new SystemRandom(),
    });
    const row = { timestamp: 1n, timestamp_ns: 1_000n, status: 1 };
    const texts = { host: "h", source: "s", sourcetype: "t", index: "i", raw: "first" };
    const batch = encodeBatch(batchOfRows(TYPED, [{ ...row, ...texts }]));
    await wal.append(LANE, batch, "wait_for");
    await wal.seal(LANE);
    await wal.requestDrain(LANE);
  }
  const path = `${stack.dataDir}/warehouse/catalog.db`;
  await using catalog = await openSqliteCatalog({ path, readOnly: true });
  while (!(await catalog.tableSchemas("svc")).has(LANE.index)) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await stack.ensure("ingest");
}

Deno.test({
  name: "bulk documents fill the typed columns of their table, in the WAL and committed",
  async fn() {
    await using stack = await Stack.start();
    await makeTypedTable(stack);
    const client = new Client({ node: `${stack.ingestUrl}/api/v1/_compat` });
    const send = async (documents: object[], query: Record<string, string> = {}) => {
      const operations = documents.flatMap((
        document,
      ) => [{ index: { _index: "typed" } }, document]);
      const reply = await client.bulk({ operations }, { querystring: query });
      return reply.items.map((item) => item.index?.status);
    };
    const statuses = await send([{ message: "a", status: "200" }, { message: "b", status: "x" }]);
    assert.deepEqual(statuses, [201, 400]);
    const statement = "SELECT raw, status, status + 1, attributes FROM typed ORDER BY timestamp_ns";
    const expected = [["first", 1, 2, null], ["a", 200, 201, null]];
    assert.deepEqual((await stack.sql(statement)).rows, expected);
    assert.deepEqual(await send([{ message: "c", k: 1 }], { commit: "force" }), [201]);
    assert.deepEqual((await stack.sql(statement)).rows, [
      ...expected,
      ["c", null, null, `{"k":1}`],
    ]);
    await client.close();
  },
});
