/**
 * The way that OTLP requests of every protocol share: receive within a deadline, append, wait for
 * the commit where one was asked for, count. Nothing is stored unless `receive` returned.
 */

import type { ColumnBatch } from "../shared/columns/batch.ts";
import type { LaneId } from "../shared/event/tenant.ts";
import type { ByteBudget, ByteHold } from "../shared/http/byte_budget.ts";
import { withDeadline } from "../shared/http/deadline.ts";
import type { FrameKey } from "../shared/wal/frame_key.ts";
import { type AppendDeps, appendRows } from "./append_rows.ts";
import type { CommitMode } from "./commit_mode.ts";
import type { IngestMetrics } from "./metrics.ts";

export interface TakeRowsDeps extends AppendDeps {
  /** Returns once the rows of a segment are committed: `commit=force`. */
  readonly forceCommit: (lane: LaneId, segment: string) => Promise<void>;
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
}

/**
 * Returns once the rows that `receive` gave are as durable as their mode asks. What `receive` holds
 * is given back when it ends, for which `late` asks it once the deadline has passed. Errors: those of
 * `receive`, the lanes, the WAL and the commit; `deadline_exceeded`.
 */
export async function takeRows(
  endpoint: RowsEndpoint,
  receive: (hold: ByteHold, late: AbortSignal) => Promise<ReceivedRows>,
  deps: TakeRowsDeps,
): Promise<void> {
  const deadline = {
    msMax: deps.requestMsMax,
    what: "the rows did not arrive or were not made durable (they may still be stored)",
  };
  const stored = await withDeadline(deadline, async (late) => {
    using hold = deps.bodies.hold();
    const { batch, lane, mode, key } = await receive(hold, late);
    if (batch.rows === 0) return undefined;
    const segment = await appendRows(batch, { lane, mode, key, deps });
    return { lane, mode, rows: batch.rows, segment };
  });
  if (stored === undefined) return;
  // Before the wait: the rows are durable even when their commit is not seen in time.
  deps.metrics.events.at({ endpoint }).add(stored.rows);
  if (stored.mode === "force") await deps.forceCommit(stored.lane, stored.segment);
}
