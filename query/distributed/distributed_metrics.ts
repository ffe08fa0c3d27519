/** Metrics of statements that many servers share. */

import type { MetricTable } from "../../shared/metrics/table.ts";
import { PEER_STATES } from "./peer_state.ts";

/** How a shard's attempt ended: `late` ones lost to another attempt of the same shard. */
const SHARD_OUTCOMES = ["ok", "retried", "failed", "late"] as const;
export type ShardOutcome = typeof SHARD_OUTCOMES[number];

export const DISTRIBUTED_METRICS = {
  peers: {
    kind: "gauge",
    name: "svc_query_peers",
    help: "Peers by what is known of them: query/distributed/README.md",
    labels: { state: PEER_STATES },
  },
  fanOuts: {
    kind: "counter",
    name: "svc_query_fan_outs_total",
    help: "Statements that were shared with peers, by what each server did",
    labels: { mode: ["scan", "ordered_scan", "aggregate", "ordered_aggregate", "ship"] },
  },
  fannedAlone: {
    kind: "counter",
    name: "svc_query_fan_out_alone_total",
    help: "Statements that were to be shared and ran on this server alone: the answer says why",
  },
  shardAttempts: {
    kind: "counter",
    name: "svc_query_shard_attempts_total",
    help: "Shards that this server asked for, by how it ended; late: another attempt was quicker",
    labels: { outcome: SHARD_OUTCOMES },
  },
  shardSecs: {
    kind: "histogram",
    name: "svc_query_shard_seconds",
    help: "Time from asking for a shard to its last row",
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300],
  },
  shardPins: {
    kind: "counter",
    name: "svc_query_shard_pin_total",
    help:
      "Shards that other servers asked for, by whether their snapshot, schema and files are known here",
    labels: { outcome: ["hit", "miss"] },
  },
} as const satisfies MetricTable;
