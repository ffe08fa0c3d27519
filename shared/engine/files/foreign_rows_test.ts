/**
 * Tables of which another engine wrote parts without asking this service. A manifest says another
 * number of rows than its file has, and deletes name rows that nobody has.
 */

import assert from "node:assert/strict";
import { present } from "../../base/assert.ts";
import { dayOfNs } from "../../base/time.ts";
import { batchOfRows } from "../../columns/rows.ts";
import { commitAppend, ensureTable } from "../../iceberg/commit_append.ts";
import { IcebergReader } from "../../iceberg/iceberg_reader.ts";
import { writeParquet } from "../../parquet/write_parquet.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { commitDeletes } from "../../testing/foreign_deletes.ts";

const IDENT = { namespace: "svc", name: "events" };
const START_NS = 1_790_000_000_000_000_000n;
const ROWS = 5;

/** Commits a file of `ROWS` rows, of which its manifest says that they are `said`. */
async function commitFile(lab: EngineLab, said: number): Promise<void> {
  const { store, catalog, clock, random } = lab;
  const deps = { store, catalog, clock, random };
  const table = await ensureTable(deps, { ident: IDENT, schema: EVENTS_SCHEMA });
  const rows = Array.from({ length: ROWS }, (_, at) => ({
    timestamp: (START_NS + BigInt(at) * 1_000n) / 1_000n,
    timestamp_ns: START_NS + BigInt(at) * 1_000n,
    ...{ host: "h", source: "s", sourcetype: "t", index: "main", raw: `row ${at}` },
    attributes: null,
  }));
  const schema = EVENTS_SCHEMA;
  const written = writeParquet([batchOfRows(schema, rows)], { schema });
  const key = `${table.locationKey}/data/written-elsewhere-${said}.parquet`;
  await store.putNew(key, written.bytes);
  const file = {
    ...{ key, rows: said, byteLength: written.bytes.byteLength, day: dayOfNs(START_NS) },
    ...{ timestampNsMin: START_NS, timestampNsMax: START_NS + BigInt(ROWS - 1) * 1_000n },
    ...{ lowerBounds: written.lowerBounds, upperBounds: written.upperBounds },
    ...{ nullCounts: written.nullCounts, valueCounts: written.valueCounts },
    ...{ columnSizes: written.columnSizes, splitOffsets: written.splitOffsets, sortOrderId: 0 },
  };
  await commitAppend(deps, { ident: IDENT, schema, files: [file], consumed: [] });
}

/** Where the table's one data file is. */
async function locationOf({ store, catalog }: EngineLab): Promise<string> {
  const reader = new IcebergReader(store);
  const metadata = present(await catalog.metadataLocation(IDENT));
  const [entry] = await reader.liveEntries(await reader.loadTable(IDENT, metadata));
  return present(entry).file.location;
}

/** Each gives the number of rows, by another way. */
const COUNTS = [
  "SELECT count(*) FROM events",
  "SELECT count(raw) FROM events",
  "SELECT count(*) FROM events WHERE raw LIKE 'row%'",
  "SELECT sum(n)::BIGINT FROM (SELECT host, count(*) AS n FROM events GROUP BY host)",
  "SELECT count(*) FROM (SELECT raw FROM events ORDER BY timestamp DESC LIMIT 100)",
  "SELECT count(*) FROM (SELECT DISTINCT timestamp_ns FROM events)",
];

Deno.test({
  name: "a file that has other rows than its manifest says: no statement answers another count",
  async fn() {
    for (const said of [ROWS - 1, ROWS + 1, ROWS + 1_000]) {
      await using lab = await EngineLab.open();
      await commitFile(lab, said);
      for (const sql of COUNTS) {
        assert.deepEqual((await lab.query(sql)).rows, [[ROWS]], `${said}: ${sql}`);
      }
      // What remains of it goes by places in it, so deletes are refused, for counts too.
      const { store, catalog, clock, random } = lab;
      await commitDeletes({ store, catalog, clock, random }, IDENT, [{
        ...{ kind: "position", day: dayOfNs(START_NS) },
        rows: [{ location: await locationOf(lab), place: ROWS - 1 }],
      }]);
      for (const sql of COUNTS) {
        await assert.rejects(lab.query(sql), {
          code: "corrupt",
          message: new RegExp(
            `written-elsewhere-${said}.*has ${ROWS} rows, the table says ${said}`,
          ),
        });
      }
    }
  },
});

Deno.test({
  name: "deletes of rows that no file has leave all rows, for counts and for scans",
  async fn() {
    await using lab = await EngineLab.open();
    await commitFile(lab, ROWS);
    const { store, catalog, clock, random } = lab;
    const deps = { store, catalog, clock, random };
    const location = await locationOf(lab);
    const day = dayOfNs(START_NS);
    const none = `${location}-none`;
    for (const hasBounds of [true, false]) {
      await commitDeletes(deps, IDENT, [
        { kind: "position", day, hasBounds, rows: [{ location: none, place: 1 }] },
      ]);
      for (const sql of COUNTS) assert.deepEqual((await lab.query(sql)).rows, [[ROWS]], sql);
    }
    // Places that the file does not have, and one that it has.
    await commitDeletes(deps, IDENT, [{
      ...{ kind: "position", day },
      rows: [ROWS, ROWS + 70, 1].map((place) => ({ location, place })),
    }]);
    for (const sql of COUNTS) assert.deepEqual((await lab.query(sql)).rows, [[ROWS - 1]], sql);
  },
});
