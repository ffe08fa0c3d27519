import assert from "node:assert/strict";
import { RecordBatch } from "apache-arrow";
import { isOperatingError } from "../base/errors.ts";
import { encodeBatch } from "../columns/ipc.ts";
import { batchOfRows, type RowObject, rowsOf } from "../columns/rows.ts";
import { SystemClock } from "../os/clock.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { SystemRandom } from "../os/random.ts";
import { ALL_TYPES_SCHEMA } from "../testing/batch_arbitrary.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import type { TableSchema } from "../schema/schema.ts";
import { openWalConsumer } from "./open_wal_consumer.ts";
import { recordBatchOf } from "./record_batch.ts";
import { openWal } from "./wal.ts";

const LANE = { tenant: "acme", index: "orders" };
const FIRST_NS = 1_795_250_209_000_000_001n;

/** Many alike, so that frames are packed and leave columns out. */
const EVENTS: readonly RowObject[] = Array.from({ length: 600 }, (_, at) => ({
  timestamp: (FIRST_NS + BigInt(at)) / 1_000n,
  timestamp_ns: FIRST_NS + BigInt(at),
  host: "here",
  source: "shop",
  sourcetype: "log",
  index: "main",
  raw: `${at} orders of 😀 have been declined for reasons that nobody knows yet`,
  attributes: at % 2 === 0 ? null : `{"at":"${at}"}`,
}));

async function withWal(
  schema: TableSchema,
  frames: readonly (readonly RowObject[])[],
  act: (place: { root: string; stateDir: string; segment: string }) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "wal-consumer-" });
  try {
    const root = `${folder}/wal`;
    const [fs, clock, random] = [new DenoFileSystem(), new SystemClock(), new SystemRandom()];
    await using wal = await openWal({ fs, clock, random, root, freeBytesMin: 1 });
    for (const rows of frames) {
      await wal.append(LANE, encodeBatch(batchOfRows(schema, rows)), "wait_for");
    }
    const segment = await wal.seal(LANE) ?? assert.fail("nothing was sealed");
    await act({ root, stateDir: `${folder}/cursors`, segment });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test({
  name: "openWalConsumer by path reads each frame as a batch, and goes on behind its commit",
  fn: () =>
    withWal(EVENTS_SCHEMA, [EVENTS, EVENTS.slice(0, 1)], async ({ root, stateDir, segment }) => {
      const options = { consumerId: "a", stateDir, lane: LANE };
      const consumer = await openWalConsumer(root, options);
      assert.equal(consumer.position, null);
      assert.deepEqual((await consumer.poll()).map(({ name }) => name), [segment]);
      const batches = await Array.fromAsync(consumer.batches(segment));
      assert.deepEqual(batches.map(rowsOf), [EVENTS, EVENTS.slice(0, 1)]);
      const names = batches[0]?.schema.columns.map(({ name }) => name);
      assert.deepEqual(names, EVENTS_SCHEMA.columns.map(({ name }) => name));
      await consumer.commit(segment);
      const again = await openWalConsumer(root, options);
      assert.equal(again.position, segment);
      assert.deepEqual(await again.poll(), []);
      await again.withdraw();
      assert.equal((await openWalConsumer(root, options)).position, null);
    }),
});

Deno.test({
  name: "openWalConsumer closes the segment of a reader that stops early",
  fn: () =>
    withWal(EVENTS_SCHEMA, [EVENTS, EVENTS], async ({ root, stateDir, segment }) => {
      const consumer = await openWalConsumer(root, { consumerId: "a", stateDir, lane: LANE });
      for await (const batch of consumer.batches(segment)) {
        assert.equal(batch.rows, EVENTS.length);
        break; // A file that stays open fails the test.
      }
    }),
});

Deno.test({
  name: "openWalConsumer refuses a path without a WAL, an id, a lane, and a segment that is gone",
  fn: () =>
    withWal(EVENTS_SCHEMA, [EVENTS], async ({ root, stateDir, segment }) => {
      const options = { consumerId: "a", stateDir, lane: LANE };
      await assert.rejects(
        openWalConsumer(`${root}/acme`, options),
        (error) => isOperatingError(error, "not_found") && /has no file LOCK/.test(error.message),
      );
      await assert.rejects(
        openWalConsumer(root, { ...options, consumerId: "../a" }),
        (error) => isOperatingError(error, "invalid_argument"),
      );
      for (const lane of [{ ...LANE, tenant: ".." }, { ...LANE, index: "../../a" }]) {
        await assert.rejects(
          openWalConsumer(root, { ...options, lane }),
          (error) => isOperatingError(error, "invalid_argument"),
        );
      }
      const consumer = await openWalConsumer(root, options);
      await Deno.remove(`${root}/acme/orders/sealed/${segment}`);
      await assert.rejects(
        Array.fromAsync(consumer.batches(segment)),
        (error) => isOperatingError(error, "not_found"),
      );
    }),
});

Deno.test({
  name: "recordBatchOf gives Apache Arrow's own batch with all rows of all columns",
  fn: () =>
    withWal(EVENTS_SCHEMA, [EVENTS], async ({ root, stateDir, segment }) => {
      const consumer = await openWalConsumer(root, { consumerId: "a", stateDir, lane: LANE });
      for await (const batch of consumer.batches(segment)) {
        const found = recordBatchOf(batch);
        assert.ok(found instanceof RecordBatch);
        assert.equal(found.numRows, EVENTS.length);
        assert.deepEqual(
          found.schema.fields.map(({ name, nullable }) => [name, nullable]),
          EVENTS_SCHEMA.columns.map(({ name, required }) => [name, !required]),
        );
        for (const name of ["timestamp_ns", "raw", "attributes", "host"]) {
          const values = Array.from(found.getChild(name) ?? []);
          assert.deepEqual(values, EVENTS.map((row) => row[name]), name);
        }
        assert.equal(`${found.schema.fields[0]?.type}`, "Timestamp<MICROSECOND, UTC>");
        const [first] = found.getChild("timestamp")?.toArray() ?? [];
        assert.equal(first, EVENTS[0]?.["timestamp"]);
      }
    }),
});

Deno.test({
  name: "recordBatchOf takes each type of column",
  fn() {
    const row: RowObject = Object.fromEntries(
      ALL_TYPES_SCHEMA.columns.map(({ name, type, required }) => {
        if (!required) return [name, null];
        if (type === "string") return [name, "x"];
        return [name, type === "bool" ? true : type === "double" || type === "int" ? 1 : 1n];
      }),
    );
    const found = recordBatchOf(batchOfRows(ALL_TYPES_SCHEMA, [row, row]));
    for (const { name, required } of ALL_TYPES_SCHEMA.columns) {
      assert.equal(found.getChild(name)?.nullCount, required ? 0 : 2, name);
    }
  },
});
