import assert from "node:assert/strict";
import type { ColumnBatch } from "../../shared/columns/batch.ts";
import { batchOfRows, type RowObject, rowsOf } from "../../shared/columns/rows.ts";
import { QUERY_AUDIT_SCHEMA } from "../../shared/schema/query_audit.ts";
import { createMetrics } from "../../shared/metrics/metrics.ts";
import { FakeClock } from "../../shared/testing/fake_clock.ts";
import type { QueryRecord } from "../query_record.ts";
import { type AuditDeps, AuditWriter } from "./audit_writer.ts";
import { AUDIT_METRICS, DROP_REASONS, FAILURE_REASONS } from "./metrics.ts";

const RECORD: QueryRecord = {
  startedMs: Date.UTC(2026, 10, 20, 1),
  durationMs: 1.5,
  caller: { tenant: "default", namespace: "svc", subject: "ann" },
  endpoint: "sql",
  query: "SELECT 1",
  format: "records",
  priority: "interactive",
  status: 413,
  rowsReturned: 7,
  truncated: true,
  application: "psql",
};

function lab(changes: Partial<AuditDeps> = {}) {
  const clock = new FakeClock();
  const metrics = createMetrics(AUDIT_METRICS, { version: "0", role: "query" });
  const batches: ColumnBatch[] = [];
  const append = (rows: readonly RowObject[]) =>
    Promise.resolve(void batches.push(batchOfRows(QUERY_AUDIT_SCHEMA, rows)));
  const writer = new AuditWriter({ clock, metrics, append, ...changes });
  /** Counts that are not 0. */
  const counts = () =>
    Object.fromEntries([
      ...DROP_REASONS.map((reason) => [reason, metrics.auditDropped.at({ reason }).value]),
      ...FAILURE_REASONS.map((
        reason,
      ) => [`!${reason}`, metrics.auditFailures.at({ reason }).value]),
    ].filter(([, count]) => count !== 0));
  const send = (rows: number, query = "SELECT 1") => {
    for (let row = 0; row < rows; row += 1) writer.completed({ ...RECORD, query });
  };
  return { clock, writer, batches, counts, send };
}

const never = () => new Promise<void>(() => {});

Deno.test({
  name: "AuditWriter appends what waited five seconds in one batch, all columns filled",
  async fn() {
    const { clock, writer, batches, counts, send } = lab();
    send(2);
    await clock.advance(4_999);
    assert.equal(batches.length, 0);
    await clock.advance(1);
    assert.deepEqual(batches.map(({ rows }) => rows), [2]);
    const [row] = batches.flatMap(rowsOf);
    assert.deepEqual([row?.["query"], row?.["subject"], row?.["email"]], ["SELECT 1", "ann", null]);
    assert.deepEqual([row?.["status"], row?.["truncated"], row?.["duration_ms"]], [413, true, 1.5]);
    assert.deepEqual([row?.["rows_returned"], row?.["complexity"]], [7n, null]);
    assert.equal(row?.["application_name"], "psql");
    assert.equal(row?.["timestamp_ns"], 1_795_136_400_000_000_000n);
    send(1);
    await writer[Symbol.asyncDispose]();
    assert.deepEqual(batches.map(({ rows }) => rows), [2, 1], "stopping appends what waits");
    assert.deepEqual(counts(), {});
  },
});

Deno.test({
  name:
    "AuditWriter makes about one batch a minute of a trickle, and none of its rows waits longer",
  async fn() {
    const { clock, writer, batches, counts, send } = lab();
    const sent = 3_600;
    for (let second = 0; second < sent; second += 1) {
      send(1);
      await clock.advance(1_000);
    }
    await clock.advance(60_000);
    assert.deepEqual(batches.slice(0, 6).map(({ rows }) => rows), [5, 10, 20, 40, 60, 60]);
    assert.ok(batches.length <= 64, `${batches.length} batches`);
    assert.equal(batches.reduce((sum, { rows }) => sum + rows, 0), sent);
    await clock.advance(600_000);
    const before = batches.length;
    send(1);
    await clock.advance(5_000);
    assert.equal(batches.length, before + 1, "after a quiet time five seconds are enough");
    await writer[Symbol.asyncDispose]();
    assert.deepEqual(counts(), {});
  },
});

Deno.test({
  name: "AuditWriter makes under 3,000 small batches a day however a trickle comes and goes",
  async fn() {
    const hourMax = 3_000 / 24;
    for (const onSecs of [1, 4, 6, 14, 16, 34, 36, 75]) {
      for (const offSecs of [56, 60, 65, 75, 90]) {
        const { clock, writer, batches, send } = lab();
        for (let second = 0; second < 3_600; second += 1) {
          if (second % (onSecs + offSecs) < onSecs) send(1);
          await clock.advance(1_000);
        }
        const about = `${onSecs} s on, ${offSecs} s off`;
        assert.ok(batches.length <= hourMax, `${batches.length} batches: ${about}`);
        assert.ok(batches.length >= 30, `${batches.length} batches: ${about}`);
        await writer[Symbol.asyncDispose]();
      }
    }
  },
});

Deno.test({
  name: "AuditWriter ends a longer wait when many rows have come, and goes back to five seconds",
  async fn() {
    const { clock, writer, batches, send } = lab();
    send(1);
    await clock.advance(5_000);
    send(255);
    await clock.advance(9_999);
    assert.deepEqual(batches.map(({ rows }) => rows), [1]);
    send(1);
    await clock.advance(0);
    assert.deepEqual(batches.map(({ rows }) => rows), [1, 256]);
    send(2);
    await clock.advance(5_000);
    assert.deepEqual(batches.map(({ rows }) => rows), [1, 256, 2]);
    await writer[Symbol.asyncDispose]();
  },
});

Deno.test({
  name: "AuditWriter appends long statements at once rather than drop those that follow",
  async fn() {
    const { clock, writer, batches, counts, send } = lab({ limits: { bytesMax: 100_000 } });
    for (let sent = 0; sent < 20; sent += 1) {
      send(1, "x".repeat(4_000));
      await clock.advance(0);
    }
    assert.deepEqual(counts(), {});
    await writer[Symbol.asyncDispose]();
    assert.equal(batches.reduce((sum, { rows }) => sum + rows, 0), 20);
  },
});

const TINY = { flushMs: 10, flushRows: 2, appendDeadlineMs: 100 };
type Lab = ReturnType<typeof lab>;
const DROPS: [string, Partial<AuditDeps>, (l: Lab) => unknown, Record<string, number>][] = [
  [
    "a row over the byte ceiling",
    { limits: { ...TINY, bytesMax: 5_000 } },
    (l) => l.send(1, "x".repeat(5_000)),
    { oversized: 1 },
  ],
  ["rows over the row ceiling", { limits: { ...TINY, rowsMax: 3 } }, (l) => l.send(5), {
    row_limit: 2,
  }],
  [
    "rows over the byte ceiling together",
    { limits: { ...TINY, bytesMax: 1_500 } },
    (l) => l.send(4),
    { byte_limit: 2 },
  ],
  ["rows over the channel", { limits: { ...TINY, queueRowsMax: 3 } }, (l) => l.send(4), {
    channel_full: 1,
  }],
  ["rows of a stopped worker", { limits: TINY }, async (l) => {
    await l.writer[Symbol.asyncDispose]();
    l.send(2);
  }, { worker_shutdown: 2 }],
  [
    "a batch whose append fails, tried once",
    {
      limits: TINY,
      append: () => Promise.reject(new Error("disk")),
    },
    (l) => l.send(3),
    { append: 3, "!append": 1 },
  ],
  ["a batch past its deadline", { limits: TINY, append: never }, (l) => l.send(2), {
    append_deadline: 2,
    "!append_deadline": 1,
  }],
  [
    "nothing but a failure of a batch that cannot be built",
    {
      limits: TINY,
      build: () => {
        throw new Error("SELECT 'secret'");
      },
    },
    (l) => l.send(2),
    { "!build": 1 },
  ],
];

for (const [what, changes, act, expected] of DROPS) {
  Deno.test({
    name: `AuditWriter counts ${what}`,
    async fn() {
      const at = lab(changes);
      await act(at);
      await at.clock.advance(1_000);
      assert.deepEqual(at.counts(), expected);
    },
  });
}

Deno.test({
  name: "AuditWriter keeps the charge of an abandoned append that has not ended",
  async fn() {
    const { clock, counts, send } = lab({ append: never, limits: { ...TINY, rowsMax: 2 } });
    send(2);
    await clock.advance(1_000);
    send(1);
    assert.deepEqual(counts(), { append_deadline: 2, "!append_deadline": 1, row_limit: 1 });
  },
});
