/** What a fan-out is made of. */

import type { Engine, QueryRequest } from "../../shared/engine/types.ts";
import type { ReceivedFile } from "../../shared/engine/shards/shard.ts";
import type { Spread, SpreadingEngine } from "../../shared/engine/shards/spread.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { Admission } from "../admission/admission.ts";
import type { QueryMetrics } from "../metrics/metrics.ts";
import type { QueryCaller } from "../query_caller.ts";
import type { CutShard } from "./cut_shards.ts";
import type { FanOutSlots } from "./fan_out_slots.ts";
import type { PeerClient } from "./peer_client.ts";
import type { Peers } from "./peers.ts";

/**
 * `always`: as `/sql/distributed`. `auto`: where much must come from the store. `told`: it runs
 * nowhere, and says whether it would be shared.
 */
export type Wish = "always" | "auto" | "told" | "never";

export interface DistributionOptions {
  readonly engine: Engine & Partial<SpreadingEngine>;
  /** Undefined: this server has no peers. */
  readonly peers: Peers | undefined;
  readonly client: PeerClient;
  readonly slots: FanOutSlots;
  readonly admission: Pick<Admission, "turnWaits">;
  readonly metrics: QueryMetrics;
  readonly clock: Clock;
  readonly bytesMin: number;
  /** Names this server among its peers until one of them answers as it. */
  readonly instanceId: string;
}

/** On whose behalf a statement is shared, and what takes memory for its merge. */
export interface FannedFor {
  readonly caller: QueryCaller;
  /** Reserves memory of the pool for so many bytes. */
  readonly reserve: (bytes: number) => Promise<void>;
}

/** A statement that is shared now. */
export interface FannedContext extends DistributionOptions {
  readonly peers: Peers;
  readonly request: QueryRequest;
  readonly made: FannedFor;
  /** This server's name among `nodes`. */
  readonly self: string;
  readonly startedMs: number;
}

/** What running it takes. */
export interface FannedWork {
  readonly spread: Spread;
  readonly context: FannedContext;
  readonly shards: readonly CutShard[];
  readonly nodes: readonly string[];
  readonly signal: AbortSignal;
  /** Milliseconds that are left of the wall clock. Errors: `deadline_exceeded`. */
  leftMs(): number;
  /** The request that merges `files`. */
  merging(files: readonly ReceivedFile[]): QueryRequest;
  /** The request that runs a shard here. */
  runningHere(shard: number, signal: AbortSignal): QueryRequest;
}
