import assert from "node:assert/strict";
import { encodeLogsRequest } from "../proto/otlp_logs.ts";
import { isOperatingError } from "../shared/base/errors.ts";
import { batchOfRows } from "../shared/columns/rows.ts";
import { ByteBudget } from "../shared/base/byte_budget.ts";
import { SystemClock } from "../shared/os/clock.ts";
import { LaneChoice } from "./lane_choice.ts";
import { createIngestMetrics } from "./metrics.ts";
import { decodeLogsProtobuf } from "./otlp/logs/logs_protobuf.ts";
import { chargeRows, type ReceivedRows, takeRows } from "./take_rows.ts";
import { openGate } from "../tests/doubles/tenant_gate.ts";

const SCHEMA = {
  columns: [{ id: 1, name: "raw", type: "string", required: true }],
  tags: [],
} as const;
const BUDGET_BYTES = 1_000_000;
/** Bytes of the offsets of one row. */
const OFFSET_BYTES = 8;

Deno.test({
  name:
    "chargeRows charges what rows take beyond eight times their request, and releases what does not fit",
  fn() {
    const budget = new ByteBudget(BUDGET_BYTES);
    using hold = budget.hold();
    let released = 0;
    const charge = (bytes: number, bodyBytes: number) => {
      const batch = batchOfRows(SCHEMA, [{ raw: "x".repeat(bytes - OFFSET_BYTES) }]);
      chargeRows({ ...batch, release: () => released += 1 }, { hold, bodyBytes });
    };
    charge(8 * 50_000, 50_000);
    charge(60_000, 0);
    assert.equal(budget.used, 0);
    // Each request counts for 8 KiB besides its body.
    charge(600_000, 1_000);
    assert.equal(budget.used, 600_000 - 8 * (8_192 + 1_000));
    assert.equal(released, 0);
    assert.throws(
      () => charge(700_000, 1_000),
      (error) => isOperatingError(error) && error.reason === "bodies_in_flight",
    );
    assert.equal(released, 1);
  },
});

Deno.test({
  name: "takeRows stores no row of a request that was answered before they were there",
  async fn() {
    const metrics = createIngestMetrics({ version: "1", role: "ingest" });
    let appends = 0;
    const append = () => {
      appends += 1;
      return Promise.resolve({ segment: "s" });
    };
    const take = (received: Promise<ReceivedRows>, requestMsMax: number) =>
      takeRows("logs", () => received, {
        wal: { append },
        lanes: new LaneChoice(0, { tenants: openGate(metrics), metrics }),
        forceCommit: () => Promise.resolve(),
        bodies: new ByteBudget(BUDGET_BYTES),
        clock: new SystemClock(),
        requestMsMax,
        metrics,
      });
    const body = encodeLogsRequest({ resourceLogs: [{ scopeLogs: [{ logRecords: [{}] }] }] });
    const batch = decodeLogsProtobuf(body, { nowNs: 1n });
    const rows = { batch, lane: { tenant: "default", index: "events" }, mode: "auto" } as const;
    const late = Promise.withResolvers<ReceivedRows>();
    await assert.rejects(take(late.promise, 1), { code: "deadline_exceeded" });
    late.resolve(rows);
    await new Promise((resolve) => setTimeout(resolve));
    assert.equal(appends, 0);
    await take(Promise.resolve(rows), 10_000);
    assert.equal(appends, 1);
  },
});
