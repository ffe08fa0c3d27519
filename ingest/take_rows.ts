/**
 * The way that OTLP requests of every protocol share: receive within a deadline, append, wait for
 * the commit where one was asked for, count. Nothing is stored unless `receive` returned.
 */

import type { ColumnBatch } from "../shared/columns/batch.ts";
import { EVENTS_SHAPE } from "../shared/schema/table_shape.ts";
import type { LaneId } from "../shared/tenant/tenant.ts";
import type { ByteBudget, ByteHold } from "../shared/base/byte_budget.ts";
import { type Late, withDeadline } from "../shared/base/with_deadline.ts";
import type { FrameKey } from "../shared/wal/frame_key.ts";
import { type AppendDeps, appendRows } from "./append_rows.ts";
import type { CommitMode } from "./commit_mode.ts";
import { LIMITS } from "./flags.ts";
import { mapRows, type RefusedRows } from "./mapped_rows.ts";
import type { IngestMetrics } from "./metrics.ts";

export interface TakeRowsDeps extends AppendDeps {
  /** Returns once the rows of a segment are committed: `commit=force`. */
  readonly forceCommit: (lane: LaneId, segment: string) => Promise<void>;
  /** Whether it can see a commit; undefined: it can. */
  readonly canForce?: boolean;
  readonly metrics: IngestMetrics;
  readonly bodies: ByteBudget;
  /** From the head of a request to its rows' durability. */
  readonly requestMsMax: number;
}

/** Values of the label `endpoint` for requests that bring rows. */
export type RowsEndpoint = "logs" | "traces" | "grpc_logs" | "grpc_traces";

/** A request that was let in and decoded. */
export interface ReceivedRows {
  readonly batch: ColumnBatch;
  readonly lane: LaneId;
  readonly mode: CommitMode;
  readonly key?: FrameKey | undefined;
  /** What its sender should know of a request without rows. */
  readonly warning?: RefusedRows | undefined;
}

/**
 * Returns once the rows that `receive` gave are as durable as their mode asks. What `receive` holds
 * is given back when it ends, for which `late` asks it once the deadline has passed. Returns what
 * the table's mapping refused, if anything, or what `receive` warns of; the other rows are stored.
 * Errors: those of `receive`, the lanes, the WAL and the commit; `deadline_exceeded`.
 */
export async function takeRows(
  endpoint: RowsEndpoint,
  receive: (hold: ByteHold, late: Late) => Promise<ReceivedRows>,
  deps: TakeRowsDeps,
): Promise<RefusedRows | undefined> {
  const deadline = {
    msMax: deps.requestMsMax,
    what: "the rows did not arrive or were not made durable (they may still be stored)",
  };
  const stored = await withDeadline(deadline, async (late) => {
    using hold = deps.bodies.hold();
    const { batch: received, lane, mode, key, warning } = await receive(hold, late);
    const { batch, refused } = await mapRows(received, deps.shapeOf?.(lane) ?? EVENTS_SHAPE);
    if (batch.rows === 0) return { refused: refused ?? warning };
    // The sender was refused already and sends the rows again: if they were stored now, they would
    // be there twice.
    late.throwIfLate();
    const segment = await appendRows(batch, { lane, mode, key, deps });
    return { refused, appended: { lane, mode, rows: batch.rows, segment } };
  });
  const { refused, appended } = stored;
  if (appended === undefined) return refused;
  // Before the wait: the rows are durable even when their commit is not seen in time.
  deps.metrics.events.at({ endpoint }).add(appended.rows);
  if (appended.mode === "force") await deps.forceCommit(appended.lane, appended.segment);
  return refused;
}

/** Rows may take so many times the bytes of their request before they are charged as well. */
const USUAL_GROWTH = 8;

/**
 * Charges rows that are out of proportion to their request of `bodyBytes`, as those of a resource
 * with thousands of attributes are: every record repeats them. Errors: those of `hold`, the rows
 * released.
 */
export function chargeRows(
  batch: ColumnBatch,
  { hold, bodyBytes }: { readonly hold: ByteHold; readonly bodyBytes: number },
): void {
  let bytes = 0;
  for (const { offsets, values } of batch.columns) {
    bytes += values.byteLength + (offsets?.byteLength ?? 0);
  }
  const beyond = bytes - USUAL_GROWTH * (LIMITS.requestBytes + bodyBytes);
  if (beyond <= 0) return;
  try {
    hold.grow(beyond);
  } catch (error) {
    batch.release?.();
    throw error;
  }
}
