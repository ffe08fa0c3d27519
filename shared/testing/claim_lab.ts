/**
 * A mirror, a warehouse and a catalog that several drains share, for simulations of pauses and
 * crashes. Each drain can be stopped before every call that it makes to the world. Rows are
 * numbers, kept in the column `raw`.
 */

import { join } from "node:path";
import { OperatingError } from "../base/errors.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { SqliteDatabase } from "../catalog/sql_database.ts";
import { sqliteDialect } from "../catalog/sql_dialect.ts";
import { SqlWalClaims } from "../catalog/sql_wal_claims.ts";
import { openSqliteCatalog } from "../catalog/sqlite_catalog.ts";
import type { WalClaims } from "../catalog/wal_claims.ts";
import { encodeBatch, encodeSchemaMessage } from "../columns/ipc.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { type LaneId, tableOf } from "../tenant/tenant.ts";
import { IcebergReader } from "../iceberg/iceberg_reader.ts";
import type { DrainDeps } from "../drain/drain.ts";
import type { DrainObserver } from "../drain/drain_observer.ts";
import { INLINE_PARQUET_ENCODER } from "../parquet/parquet_encoder.ts";
import { MemoryStore } from "./memory_store.ts";
import { concatBytes } from "../base/bytes.ts";
import { frameOf } from "./wal_frame.ts";
import { encodeHeader } from "../wal/format.ts";
import { SegmentNames } from "../wal/layout.ts";
import { segmentKey } from "../wal/mirror/mirror_layout.ts";
import { MirrorConsumerAdmin, openMirrorWalReader } from "../wal/mirror/mirror_wal_reader.ts";
import { batchOf, EVENTS_LANE } from "./drain_lab.ts";
import type { FakeClock } from "./fake_clock.ts";
import { SeededRandom } from "./seeded_random.ts";
import { numbersIn } from "./numbers_in_files.ts";

export const MIRROR_PREFIX = "wal-mirror";

/** Called before each call to the world with what it is; it may wait, throw, or never return. */
export type Gate = (call: string) => Promise<void>;

export interface DrainerOptions {
  readonly claimant: string;
  readonly gate?: Gate;
  /** Without it the drain claims nothing, as one beside the ingester. */
  readonly lease?: { readonly leaseMs: number; readonly attemptsMax: number };
  readonly observer?: DrainObserver;
}

export class ClaimLab implements AsyncDisposable {
  readonly store: MemoryStore;
  readonly random: SeededRandom;
  readonly #names: SegmentNames;
  readonly #opened = new AsyncDisposableStack();

  private constructor(
    readonly clock: FakeClock,
    readonly folder: string,
    seed: number,
    readonly catalog: Catalog,
    readonly claims: WalClaims,
  ) {
    this.random = new SeededRandom(seed);
    this.store = new MemoryStore("memory://warehouse", () => clock.nowMs());
    this.#names = new SegmentNames(clock, this.random);
    this.#opened.use(claims);
    this.#opened.use(catalog);
  }

  static async open(seed: number, clock: FakeClock): Promise<ClaimLab> {
    const folder = await Deno.makeTempDir({ prefix: "svc-claim-lab-" });
    const path = join(folder, "catalog.db");
    const catalog = await openSqliteCatalog({ path, clock });
    return new ClaimLab(clock, folder, seed, catalog, claimsAt(path, clock));
  }

  /** One drain with connections of its own. */
  async drainer(options: DrainerOptions): Promise<DrainDeps> {
    const { gate = () => Promise.resolve(), lease, claimant, observer } = options;
    const path = join(this.folder, "catalog.db");
    const store = gated(this.store, gate);
    const catalog = this.#opened.use(await openSqliteCatalog({ path, clock: this.clock }));
    const claims = this.#opened.use(claimsAt(path, this.clock));
    return {
      wal: openMirrorWalReader(store, MIRROR_PREFIX),
      admin: new MirrorConsumerAdmin(),
      store,
      catalog: gated(catalog, gate),
      clock: this.clock,
      random: this.random,
      encoder: INLINE_PARQUET_ENCODER,
      ...(observer === undefined ? {} : { observer }),
      ...(lease === undefined
        ? {}
        : { claiming: { ...lease, claimant, claims: gated(claims, gate) } }),
    };
  }

  /** Puts one sealed segment of `numbers` into the mirror; its name. */
  async mirror(numbers: readonly number[], lane: LaneId = EVENTS_LANE): Promise<string> {
    const name = this.#names.next();
    await this.store.putNew(segmentKey(MIRROR_PREFIX, lane, name), segmentBytes(numbers, lane));
    return name;
  }

  /** Puts an object that is no segment under a segment's name. */
  async mirrorRubbish(lane: LaneId = EVENTS_LANE): Promise<string> {
    const name = this.#names.next();
    await this.store.putNew(segmentKey(MIRROR_PREFIX, lane, name), this.random.bytes(4_096));
    return name;
  }

  /** Numbers in the table, ascending. */
  async tableNumbers(lane: LaneId = EVENTS_LANE): Promise<number[]> {
    return await numbersIn(this.store, await this.tableFiles(lane));
  }

  /** Keys of the table's data files, in order. */
  async tableFiles(lane: LaneId = EVENTS_LANE): Promise<string[]> {
    const location = await this.catalog.metadataLocation(tableOf(lane));
    if (location === undefined) return [];
    const reader = new IcebergReader(this.store);
    const table = await reader.loadTable(tableOf(lane), location);
    const { files } = await reader.selectFiles(table);
    return files.map(({ key }) => key).sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync();
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** Error of a call that did not take place, or whose answer was lost. */
export function lostCall(call: string): OperatingError {
  return new OperatingError("unavailable", `${call}: the connection was lost`);
}

function claimsAt(path: string, clock: FakeClock): WalClaims {
  return new SqlWalClaims(new SqliteDatabase(path, { busyTimeoutMs: 2_000 }), sqliteDialect(clock));
}

/** A sealed segment of `numbers`. */
export function segmentBytes(numbers: readonly number[], lane: LaneId): Uint8Array {
  const schemaMessage = encodeSchemaMessage(EVENTS_SCHEMA);
  const batch = encodeBatch(batchOf(numbers));
  const { bytes, frameSeed } = encodeHeader({ lane, createdMs: 0, schemaMessage });
  return concatBytes([bytes, frameOf(batch, frameSeed)]);
}

/** `target`, whose asynchronous methods pass `gate` before and after they run. */
function gated<T extends object>(target: T, gate: Gate): T {
  return new Proxy(target, {
    get(_, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== "function" || typeof name === "symbol") return value;
      if (name === "list") return gatedList(value.bind(target), gate);
      if (name === "localPath") return value.bind(target);
      return async (...args: unknown[]) => {
        await gate(`before ${name}`);
        const result = await value.apply(target, args);
        await gate(`after ${name}`);
        return result;
      };
    },
  });
}

function gatedList(list: (prefix: string) => AsyncIterable<unknown>, gate: Gate) {
  return async function* (prefix: string) {
    await gate("before list");
    yield* list(prefix);
  };
}
