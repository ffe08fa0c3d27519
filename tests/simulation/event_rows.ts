/** Batches whose rows are numbers, as an ingest server makes them of log records. */

import type { EncodedBatch } from "../../shared/columns/batch.ts";
import { encodeBatch } from "../../shared/columns/ipc.ts";
import { batchOfRows } from "../../shared/columns/rows.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { numberedEvent } from "../../shared/testing/maintenance_lab.ts";
import { START_MS } from "./sim_clock.ts";

const DAY_NS = 86_400_000_000_000n;
const FIRST_NS = BigInt(START_MS) * 1_000_000n;

/** A batch of `numbers`; every seventh row is of the day before. */
export function batchOfNumbers(numbers: readonly number[]): EncodedBatch {
  const rows = numbers.map((number) => {
    const ns = FIRST_NS + BigInt((number * 37) % 1_000) * 1_000_000n -
      (number % 7 === 6 ? DAY_NS : 0n);
    return numberedEvent({ number, ns }, "simulation");
  });
  return encodeBatch(batchOfRows(EVENTS_SCHEMA, rows));
}
