/**
 * The queues in front of the WAL: how many requests of a tenant may have rows that wait for it. A
 * tenant whose queue is full is refused; no other tenant is touched.
 *
 * The rows themselves wait in their lane's writer (`shared/wal/lane_writer.ts`), which orders them
 * and groups them anyway. So a queue is a count of places and costs no copy and no turn of the
 * event loop. A place is taken before the rows are encoded and given back when the WAL has
 * answered.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import type { LaneId } from "../../shared/tenant/tenant.ts";
import type { IngestMetrics } from "../metrics.ts";

export interface QueueOptions {
  /** Places of one queue, at least 1. */
  readonly capacity: number;
  /** Queues of one tenant, at least 1. */
  readonly shards: number;
}

/** A full queue is worked off within one group commit or not at all soon: ask again shortly. */
const RETRY_AFTER_SECS = 1;

export class WriterQueues {
  readonly #options: QueueOptions;
  readonly #metrics: Pick<IngestMetrics, "backpressureRejected">;
  /** Taken places by shard, of tenants that have any. */
  readonly #tenants = new Map<string, TenantQueues>();
  #taken = 0;

  constructor(options: QueueOptions, metrics: Pick<IngestMetrics, "backpressureRejected">) {
    this.#options = options;
    this.#metrics = metrics;
  }

  /** Places taken now, of all tenants. */
  get taken(): number {
    return this.#taken;
  }

  /**
   * Looks for room before a body is read that could not be stored. Errors: `unavailable` with a
   * retry hint when every queue of `tenant` is full.
   */
  requireRoom(tenant: string): void {
    const { capacity } = this.#options;
    if (this.#tenants.get(tenant)?.shards.every((taken) => taken >= capacity)) {
      throw this.#full(tenant);
    }
  }

  /**
   * Takes a place until it is disposed. Errors: `unavailable` with a retry hint when there is none.
   */
  enter({ tenant, index }: LaneId): Disposable {
    const { capacity, shards } = this.#options;
    let queues = this.#tenants.get(tenant);
    if (queues === undefined) {
      queues = { shards: new Array<number>(shards).fill(0), taken: 0 };
      this.#tenants.set(tenant, queues);
    }
    const shard = shardOf(index, shards);
    const taken = queues.shards[shard] ?? 0;
    if (taken >= capacity) throw this.#full(tenant);
    queues.shards[shard] = taken + 1;
    queues.taken += 1;
    this.#taken += 1;
    return { [Symbol.dispose]: () => this.#leave(tenant, shard) };
  }

  #leave(tenant: string, shard: number): void {
    const queues = this.#tenants.get(tenant);
    if (queues === undefined) return;
    queues.shards[shard] = (queues.shards[shard] ?? 0) - 1;
    queues.taken -= 1;
    this.#taken -= 1;
    if (queues.taken === 0) this.#tenants.delete(tenant);
  }

  #full(tenant: string): OperatingError {
    this.#metrics.backpressureRejected.add(1, {});
    return new OperatingError(
      "unavailable",
      `cannot take more rows of tenant ${tenant} now: ${this.#options.capacity} of its requests ` +
        `wait for the WAL (--ingest-backpressure-capacity); send this one again later`,
      { reason: "backpressure", retryAfterSecs: RETRY_AFTER_SECS },
    );
  }
}

interface TenantQueues {
  readonly shards: number[];
  taken: number;
}

/** An index always has one queue, so that indexes beside a flooded one keep their room. */
function shardOf(index: string, shards: number): number {
  if (shards === 1) return 0;
  let hash = 0;
  for (let at = 0; at < index.length; at++) {
    hash = (Math.imul(hash, 31) + index.charCodeAt(at)) >>> 0;
  }
  return hash % shards;
}
