/** From what the WAL tells to counters and log lines. */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../shared/base/errors.ts";
import { laneName } from "../shared/tenant/tenant.ts";
import { BoundedCells, LANE_SERIES_MAX, OTHER } from "../shared/metrics/bounded_cells.ts";
import type { SegmentState, WalReader } from "../shared/wal/types.ts";
import type { WalEvent, WalEventListener } from "../shared/wal/wal_event.ts";
import type { IngestMetrics } from "./metrics.ts";

/**
 * A listener that counts into `metrics`. It runs on the hot path: one addition per event and
 * counter.
 */
export function countWalEvents(metrics: IngestMetrics): WalEventListener {
  const log = getLogger(["svc", "ingest", "wal"]);
  const appended = {
    auto: {
      rows: metrics.walRows.at({ mode: "auto" }),
      bytes: metrics.walBytes.at({ mode: "auto" }),
    },
    wait_for: {
      rows: metrics.walRows.at({ mode: "wait_for" }),
      bytes: metrics.walBytes.at({ mode: "wait_for" }),
    },
  };
  const lanes = new BoundedCells(metrics.laneRows, {
    seriesMax: LANE_SERIES_MAX,
    other: { tenant: OTHER, index: OTHER },
  });
  return (event) => {
    switch (event.kind) {
      case "appended":
        lanes.at(laneName(event.lane), () => ({ ...event.lane })).add(event.rows);
        appended[event.mode].rows.add(event.rows);
        appended[event.mode].bytes.add(event.bytes);
        return;
      case "grouped":
        metrics.walWaitSecs.observe(event.waitMs / 1_000);
        metrics.walGroupRequests.observe(event.appends);
        return;
      case "syncing":
        return;
      case "synced":
        metrics.walSyncSecs.observe(event.ms / 1_000);
        return;
      case "sealed":
        metrics.walSegments.add(1, { outcome: "sealed" });
        return;
      case "salvaged":
        countSalvaged(event, metrics);
        log.info("took segment {segment} of lane {lane} over: {outcome}", {
          segment: event.name,
          lane: laneName(event.lane),
          outcome: event.outcome,
          rows: event.rows,
          cutBytes: event.cutBytes,
        });
        return;
      case "failed":
        metrics.walFailures.add(1, {});
        log.error("lane {lane} refuses rows: {error}", {
          lane: laneName(event.lane),
          error: messageOf(event.error),
        });
        return;
      case "healed":
        log.info("lane {lane} takes rows again", { lane: laneName(event.lane) });
        return;
    }
  };
}

function countSalvaged(
  event: Extract<WalEvent, { kind: "salvaged" }>,
  metrics: IngestMetrics,
): void {
  if (event.outcome === "sealed") metrics.walSegments.add(1, { outcome: "adopted" });
  if (event.outcome === "poison") metrics.walSegments.add(1, { outcome: "poisoned" });
  if (event.cutBytes > 0) {
    metrics.walSegments.add(1, { outcome: "cut" });
    metrics.walCutBytes.add(event.cutBytes, {});
  }
}

const GAUGED_STATES = ["active", "sealed", "poison"] as const satisfies readonly SegmentState[];

/** Gauges of how many segments lie in each state, counted from the directories at a scrape. */
export function gaugeWalSegments(metrics: IngestMetrics, reader: WalReader): void {
  for (const state of GAUGED_STATES) {
    metrics.walSegmentsNow.readAtScrape(() => countSegments(reader, state), { state });
  }
}

async function countSegments(reader: WalReader, state: SegmentState): Promise<number> {
  let count = 0;
  for (const lane of await reader.lanes()) count += (await reader.list(lane, [state])).length;
  return count;
}
