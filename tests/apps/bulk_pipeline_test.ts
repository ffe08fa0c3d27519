/**
 * Bulk documents on real processes: several indexes in one request, each a table named like the index, the same rows
 * from the WAL, after `commit=force` from the table, and by another reader alone.
 */

import assert from "node:assert/strict";
import { Client } from "@elastic/elasticsearch-9";
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
