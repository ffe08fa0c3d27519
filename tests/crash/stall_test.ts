/**
 * Two claiming drains, an uploader, a reader and the mirror's sweep over a real S3 server and a
 * real PostgreSQL, with faults at random and from a seed. Requests to S3 hang, are carried out and
 * not answered, half answered, throttled and cut off. Connections to PostgreSQL break before and
 * behind a request and are late. Holds when no answer has a row twice, no row that was seen
 * vanishes, and nothing is set aside as damaged. Once the faults end, each row is in the table once
 * and the mirror is empty.
 *
 * In one process, with deadlines of fractions of a second: what takes a minute elsewhere takes two
 * seconds. The sweep's clock is ahead, so that it may remove each object as soon as its rows are
 * committed. `SVC_TEST_STALL_SEEDS` (default 3), and `SVC_TEST_STALL_SEED` for one.
 */

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { isOperatingError } from "../../shared/base/errors.ts";
import type { Catalog } from "../../shared/catalog/catalog.ts";
import { openPostgresCatalog } from "../../shared/catalog/postgres_catalog.ts";
import { PostgresPool } from "../../shared/catalog/postgres_pool.ts";
import { PostgresDatabase } from "../../shared/catalog/sql_database.ts";
import { POSTGRES_DIALECT } from "../../shared/catalog/sql_dialect.ts";
import { SqlWalClaims } from "../../shared/catalog/sql_wal_claims.ts";
import { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import { applyDrain, type DrainDeps, lookAtLane } from "../../shared/drain/drain.ts";
import { DRAIN_GATE_OPEN } from "../../shared/drain/plan_drain.ts";
import { sweepMirror } from "../../shared/drain/sweep_lane.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { INLINE_PARQUET_ENCODER } from "../../shared/parquet/parquet_encoder.ts";
import type { ObjectStore } from "../../shared/storage/object_store.ts";
import { RetryingStore } from "../../shared/storage/retrying_store.ts";
import { openS3Store } from "../../shared/storage/s3_store.ts";
import { MIRROR_PREFIX, segmentBytes } from "../../shared/testing/claim_lab.ts";
import { EVENTS_LANE } from "../../shared/testing/drain_lab.ts";
import { POSTGRES, PostgresProcess } from "../../shared/testing/postgres_process.ts";
import { type S3Fault, S3Process } from "../../shared/testing/s3_process.ts";
import { newSeed, SeededRandom } from "../../shared/testing/seeded_random.ts";
import { TcpProxy, type Trouble } from "../../shared/testing/tcp_proxy.ts";
import { SegmentNames } from "../../shared/wal/layout.ts";
import { segmentKey } from "../../shared/wal/mirror/mirror_layout.ts";
import {
  MirrorConsumerAdmin,
  openMirrorWalReader,
} from "../../shared/wal/mirror/mirror_wal_reader.ts";
import { RECLAIM_AGE_MS_MIN } from "../../shared/wal/mirror/reclaim_mirror.ts";
import { numbersIn } from "../../shared/testing/numbers_in_files.ts";

const SEEDS = Number(Deno.env.get("SVC_TEST_STALL_SEEDS") ?? "3");
const ONE_SEED = Deno.env.get("SVC_TEST_STALL_SEED");
const EVENTS = { namespace: "svc", name: "events" };
const SEGMENTS = 12;
const ROWS_PER_SEGMENT = 4;
const SEGMENT_EVERY_MS = 50;
const TROUBLE_EVERY_MS = 120;
const LEASE_MS = 600;
const SETTLE_MS_MAX = 90_000;
/** One in so many requests. */
const FAULT_ODDS = 8;
const FAULTS: readonly S3Fault[] = [
  ...["hang", "mute", "stall", "half", "reset"] as const,
  { status: 503, code: "SlowDown" },
  { status: 500, code: "InternalError" },
];
const TROUBLES: readonly Trouble[] = ["lose_request", "lose_answer"];

Deno.test({
  name: "drains of a mirror whose store stalls and whose catalog breaks commit every row once",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn(t) {
    await using s3 = await S3Process.start();
    await using postgres = await PostgresProcess.start();
    for (let at = 0; at < (ONE_SEED === undefined ? SEEDS : 1); at += 1) {
      const seed = ONE_SEED === undefined ? newSeed() : Number(ONE_SEED);
      await t.step(`seed ${seed}`, async () => {
        await using lab = await Lab.open(seed, { s3, postgres });
        await lab.survives();
      });
    }
  },
});

class LaterClock extends SystemClock {
  override nowMs(): number {
    return super.nowMs() + 2 * RECLAIM_AGE_MS_MIN;
  }
}

class Lab implements AsyncDisposable {
  readonly #random: SeededRandom;
  readonly #names: SegmentNames;
  readonly #opened = new AsyncDisposableStack();
  readonly #seen = new Set<number>();
  readonly #told = new Map<string, number>();

  private constructor(
    readonly seed: number,
    readonly s3: S3Process,
    readonly proxy: TcpProxy,
    /** Past the proxy. */
    readonly catalog: Catalog,
    readonly place: string,
  ) {
    this.#random = new SeededRandom(seed);
    this.#names = new SegmentNames(new SystemClock(), this.#random);
  }

  static async open(
    seed: number,
    { s3, postgres }: { readonly s3: S3Process; readonly postgres: PostgresProcess },
  ): Promise<Lab> {
    const uri = await postgres.newDatabase();
    const proxy = TcpProxy.to(postgres.port);
    const catalog = await openPostgresCatalog({ uri });
    const lab = new Lab(seed, s3, proxy, catalog, uri.replace(/:\d+\//, `:${proxy.port}/`));
    lab.#opened.use(proxy);
    lab.#opened.use(catalog);
    return lab;
  }

  async survives(): Promise<void> {
    const drains = [await this.#drainer("a"), await this.#drainer("b")];
    const [calm, over] = [new AbortController(), new AbortController()];
    const work = Promise.all([
      ...drains.map((deps) => this.#drain(deps, over.signal)),
      this.#trouble(calm.signal),
      this.#read(over.signal),
    ]);
    work.catch(() => {}); // Told at the end.
    this.s3.faultOf = () =>
      this.#random.below(FAULT_ODDS) === 0 ? FAULTS[this.#random.below(FAULTS.length)] : undefined;
    try {
      await this.#upload();
      this.s3.faultOf = () => undefined;
      calm.abort();
      await this.#settled();
    } finally {
      this.s3.faultOf = () => undefined;
      calm.abort();
      over.abort();
      await work;
    }
    const expected = Array.from({ length: SEGMENTS * ROWS_PER_SEGMENT }, (_, at) => at);
    assert.deepEqual(await this.#numbers(), expected, this.#report());
    assert.ok((this.#told.get("failed") ?? 0) > 0, `nothing failed: ${this.#report()}`);
  }

  /** Every segment, each until it is stored, as an ingest server's uploader does. */
  async #upload(): Promise<void> {
    const store = this.#store();
    for (let segment = 0; segment < SEGMENTS; segment += 1) {
      const first = segment * ROWS_PER_SEGMENT;
      const numbers = Array.from({ length: ROWS_PER_SEGMENT }, (_, at) => first + at);
      const key = segmentKey(MIRROR_PREFIX, EVENTS_LANE, this.#names.next());
      for (let isStored = false; !isStored;) {
        isStored = await this.#attempt(
          () => store.putNew(key, segmentBytes(numbers, EVENTS_LANE)),
          ["unavailable", "conflict", "not_found"],
        );
        // An earlier attempt may have stored it, and a sweep may have removed it before a repeat of
        // that attempt looked at it.
        if (!isStored && await this.#exists(key)) isStored = true;
      }
      await delay(SEGMENT_EVERY_MS);
    }
  }

  async #exists(key: string): Promise<boolean> {
    // Or its rows are committed already, and it is swept.
    const [name = ""] = key.split("/").slice(-1);
    if ((await this.catalog.consumedOf([name])).has(name)) return true;
    return await this.#attempt(() => this.#store().head(key), ["unavailable", "not_found"]);
  }

  async #drain(deps: DrainDeps, signal: AbortSignal): Promise<void> {
    const later = { ...deps, clock: new LaterClock() };
    while (!signal.aborted) {
      await this.#attempt(async () => {
        for (const lane of await deps.wal.lanes()) {
          const options = { gate: DRAIN_GATE_OPEN, requested: true };
          const plan = await lookAtLane(deps, lane, options);
          this.#tell(await applyDrain(deps, lane, plan));
        }
        await sweepMirror(later);
      }, ["unavailable", "not_found", "conflict"]);
      await delay(this.#random.below(40));
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#attempt(async () => {
        const numbers = await this.#numbers();
        assert.equal(new Set(numbers).size, numbers.length, `rows twice: ${this.#report()}`);
        const there = new Set(numbers);
        const vanished = [...this.#seen].filter((number) => !there.has(number));
        assert.deepEqual(vanished, [], `rows vanished: ${this.#report()}`);
        for (const number of numbers) this.#seen.add(number);
      }, ["unavailable", "not_found"]);
      await delay(100);
    }
  }

  async #trouble(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await delay(this.#random.below(TROUBLE_EVERY_MS));
      this.proxy.trouble = TROUBLES[this.#random.below(TROUBLES.length)] ?? "none";
      this.proxy.answerDelayMs = this.#random.below(30);
    }
    this.proxy.trouble = "none";
    this.proxy.answerDelayMs = 0;
  }

  /** Waits until the mirror is empty: all is committed, and swept. */
  async #settled(): Promise<void> {
    // Patient, because the short deadlines of the others fail on a busy machine.
    const store = new RetryingStore(
      openS3Store(this.s3.place(`stall-${this.seed}`), this.s3.access),
      { clock: new SystemClock(), random: this.#random },
    );
    for (const end = Date.now() + SETTLE_MS_MAX;;) {
      const left = await Array.fromAsync(store.list(`${MIRROR_PREFIX}/`));
      if (left.length === 0) return;
      assert.ok(Date.now() < end, `${left.length} segments are left: ${this.#report()}`);
      await delay(100);
    }
  }

  /** Whether `action` came through; a failure must be one that passes. */
  async #attempt(action: () => Promise<unknown>, codes: readonly string[]): Promise<boolean> {
    try {
      await action();
      return true;
    } catch (error) {
      if (!isOperatingError(error) || !codes.includes(error.code)) throw error;
      this.#tell("failed");
      return false;
    }
  }

  #tell(what: string): void {
    this.#told.set(what, (this.#told.get(what) ?? 0) + 1);
  }

  #report(): string {
    return `seed ${this.seed}, ${JSON.stringify(Object.fromEntries(this.#told))}`;
  }

  #store(): ObjectStore {
    const bare = openS3Store(this.s3.place(`stall-${this.seed}`), this.s3.access, {
      requestMsMax: 400,
      silentMsMax: 150,
    });
    return new RetryingStore(bare, { clock: new SystemClock(), random: this.#random }, {
      pauseMsMin: 5,
      pauseMsMax: 40,
      throttledMsMin: 10,
      totalMsMax: 1_500,
    });
  }

  async #drainer(claimant: string): Promise<DrainDeps> {
    const store = this.#store();
    const uri = this.place;
    const pool = new PostgresPool({ uri, readOnly: false });
    const claims = this.#opened.use(
      new SqlWalClaims(new PostgresDatabase(pool), POSTGRES_DIALECT),
    );
    const damaged = (_: unknown, segment: string, cause?: unknown) => {
      throw new Error(`bug: ${segment} was set aside: ${this.#report()}`, { cause });
    };
    return {
      wal: openMirrorWalReader(store, MIRROR_PREFIX),
      admin: new MirrorConsumerAdmin(),
      store,
      mirrorPrefix: MIRROR_PREFIX,
      catalog: this.#opened.use(await openPostgresCatalog({ uri })),
      clock: new SystemClock(),
      random: this.#random,
      encoder: INLINE_PARQUET_ENCODER,
      claiming: { claims, claimant, leaseMs: LEASE_MS, attemptsMax: 1_000 },
      observer: { poisoned: damaged, quarantined: damaged },
    };
  }

  /** What the table holds, ascending. */
  async #numbers(): Promise<number[]> {
    const location = await this.catalog.metadataLocation(EVENTS);
    if (location === undefined) return [];
    const store = this.#store();
    const reader = new IcebergReader(store);
    const { files } = await reader.selectFiles(await reader.loadTable(EVENTS, location));
    return await numbersIn(store, files.map(({ key }) => key));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync();
  }
}
