/** The last step of every ingest route: a batch into its lane, as durable as was asked. */

import { isOperatingError } from "../shared/base/errors.ts";
import type { ColumnBatch } from "../shared/columns/batch.ts";
import { encodeBatch } from "../shared/columns/ipc.ts";
import type { TableShape } from "../shared/schema/table_shape.ts";
import type { LaneId } from "../shared/tenant/tenant.ts";
import type { Clock } from "../shared/os/clock.ts";
import type { FrameKey } from "../shared/wal/frame_key.ts";
import { summaryOf } from "../shared/wal/frame_summary.ts";
import type { AppendReceipt, Wal } from "../shared/wal/types.ts";
import type { WriterQueues } from "./backpressure/writer_queues.ts";
import type { CommitMode } from "./commit_mode.ts";
import type { LaneChoice } from "./lane_choice.ts";
import type { IngestMetrics } from "./metrics.ts";
import { promotedRows } from "./promoted_rows.ts";
import type { StreamHub } from "./stream/stream_hub.ts";

export interface AppendDeps {
  /** What rows of a lane's table must be; undefined: as those of `events`. */
  readonly shapeOf?: (lane: LaneId) => TableShape;
  readonly wal: Pick<Wal, "append">;
  readonly lanes: Pick<LaneChoice, "admit">;
  /** Undefined: no bound. */
  readonly queues?: WriterQueues | undefined;
  /** Undefined: nobody can listen. */
  readonly stream?: Pick<StreamHub, "isHeard" | "publish">;
  readonly clock: Clock;
  readonly metrics: Pick<IngestMetrics, "appendSecs" | "batchRows" | "repeats">;
}

export interface AppendOptions {
  readonly lane: LaneId;
  readonly mode: CommitMode;
  /** The key of a request that names itself: its rows are stored once. */
  readonly key?: FrameKey | undefined;
  readonly deps: AppendDeps;
}

/**
 * Returns the segment that holds the rows, once they are as durable as `mode` asks; `force` waits
 * like `wait_for`, its commit is the caller's to await. The batch is released. Errors: the queue's,
 * the lane's and the WAL's.
 */
export async function appendRows(batch: ColumnBatch, options: AppendOptions): Promise<string> {
  const { lane, mode, key, deps } = options;
  const { clock, metrics } = deps;
  using _place = deps.queues?.enter(lane);
  using lanePlace = deps.lanes.admit(lane);
  if (deps.stream?.isHeard === true) deps.stream.publish(lane.tenant, batch);
  const encoded = encodeBatch(promotedRows(batch, deps.shapeOf?.(lane)));
  const summary = summaryOf(batch);
  const framed = {
    ...encoded,
    ...key === undefined ? {} : { key },
    ...summary === undefined ? {} : { summary },
  };
  const startMs = clock.monotonicMs();
  let receipt: AppendReceipt;
  try {
    receipt = await deps.wal.append(lane, framed, mode === "auto" ? "auto" : "wait_for");
  } catch (error) {
    if (!isFromClosedLane(error)) lanePlace.keep();
    throw error;
  } finally {
    batch.release?.();
  }
  lanePlace.keep();
  if (receipt.isRepeat === true) metrics.repeats.add(1, {});
  metrics.appendSecs.observe((clock.monotonicMs() - startMs) / 1_000);
  metrics.batchRows.observe(batch.rows);
  return receipt.segment;
}

/** Whether the WAL may have said so without opening the lane. */
function isFromClosedLane(error: unknown): boolean {
  return isOperatingError(error, "unavailable") || isOperatingError(error, "too_large");
}
