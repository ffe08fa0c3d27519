/**
 * Drains over a real PostgreSQL whose connections break or stall in the middle of a commit: one
 * outcome, never two.
 */

import assert from "node:assert/strict";
import { OperatingError } from "../base/errors.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { openPostgresCatalog } from "../catalog/postgres_catalog.ts";
import { PostgresPool } from "../catalog/postgres_pool.ts";
import { PostgresDatabase } from "../catalog/sql_database.ts";
import { POSTGRES_DIALECT } from "../catalog/sql_dialect.ts";
import { SqlWalClaims } from "../catalog/sql_wal_claims.ts";
import type { WalClaims } from "../catalog/wal_claims.ts";
import { IcebergReader } from "../iceberg/iceberg_reader.ts";
import { SystemClock } from "../os/clock.ts";
import { INLINE_PARQUET_ENCODER } from "../parquet/parquet_encoder.ts";
import { MemoryStore } from "../testing/memory_store.ts";
import { segmentBytes } from "../testing/claim_lab.ts";
import { EVENTS_LANE } from "../testing/drain_lab.ts";
import { POSTGRES, PostgresProcess } from "../testing/postgres_process.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { TcpProxy, type Trouble } from "../testing/tcp_proxy.ts";
import { SegmentNames } from "../wal/layout.ts";
import { segmentKey } from "../wal/mirror/mirror_layout.ts";
import { MirrorConsumerAdmin, openMirrorWalReader } from "../wal/mirror/mirror_wal_reader.ts";
import { applyDrain, type DrainDeps, type DrainOutcome, lookAtLane } from "../drain/drain.ts";
import { DRAIN_GATE_OPEN } from "../drain/plan_drain.ts";
import { numbersIn } from "../testing/numbers_in_files.ts";

const EVENTS = { namespace: "svc", name: "events" };
const ROUNDS = 12;
const LEASE_MS = 60_000;
/** More than a busy machine takes until the commit. */
const SHORT_LEASE_MS = 1_000;

Deno.test({
  name:
    "a drain whose request or answer of COMMIT is lost, under a claim or not, commits its rows once",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn(t) {
    await using postgres = await PostgresProcess.start();
    for (const trouble of ["lose_request", "lose_answer"] as const) {
      for (const withClaims of [true, false]) {
        await t.step(`${trouble}${withClaims ? " under claims" : ""}`, async () => {
          await using lab = await Lab.open(postgres, withClaims);
          const outcomes = new Set<DrainOutcome>();
          for (let round = 0; round < ROUNDS; round += 1) {
            await lab.mirror(round);
            lab.next = trouble;
            outcomes.add(await lab.drain());
            lab.next = "none";
            assert.deepEqual(await lab.numbers(), Array.from({ length: round + 1 }, (_, at) => at));
          }
          assert.deepEqual([...outcomes], ["committed"], "found by reading back");
          assert.equal(lab.proxy.troubles, ROUNDS, "each commit was troubled");
        });
      }
    }
    await t.step(
      "answers that come later than the lease: the commit is refused, not repeated",
      async () => {
        await using lab = await Lab.open(postgres, true);
        await lab.mirror(0);
        lab.next = "late_request";
        assert.equal(await lab.drain(SHORT_LEASE_MS), "claim_lost");
        assert.deepEqual(await lab.numbers(), []);
        lab.next = "none";
        assert.equal(await lab.drain(), "committed");
        assert.deepEqual(await lab.numbers(), [0]);
      },
    );
  },
});

class Lab implements AsyncDisposable {
  readonly #store = new MemoryStore();
  readonly #random = new SeededRandom(1);
  readonly #names = new SegmentNames(new SystemClock(), this.#random);
  readonly #deps: DrainDeps;
  /** What befalls the commit of the next drain. */
  next: Trouble | "late_request" = "none";

  private constructor(
    readonly proxy: TcpProxy,
    readonly catalog: Catalog,
    readonly direct: Catalog,
    readonly claims: WalClaims,
    withClaims: boolean,
  ) {
    this.#deps = {
      wal: openMirrorWalReader(this.#store, "mirror"),
      admin: new MirrorConsumerAdmin(),
      store: this.#store,
      catalog: this.#troubled(catalog),
      clock: new SystemClock(),
      random: this.#random,
      encoder: INLINE_PARQUET_ENCODER,
      ...(withClaims
        ? { claiming: { claims, claimant: "lab", leaseMs: LEASE_MS, attemptsMax: 99 } }
        : {}),
    };
  }

  static async open(postgres: PostgresProcess, withClaims: boolean): Promise<Lab> {
    const uri = await postgres.newDatabase();
    const proxy = TcpProxy.to(postgres.port);
    const through = uri.replace(`:${postgres.port}/`, `:${proxy.port}/`);
    const direct = await openPostgresCatalog({ uri });
    const catalog = await openPostgresCatalog({ uri: through });
    const pool = new PostgresPool({ uri, readOnly: false });
    const claims = new SqlWalClaims(new PostgresDatabase(pool), POSTGRES_DIALECT);
    return new Lab(proxy, catalog, direct, claims, withClaims);
  }

  /** Arms the proxy for the first commit of rows; a table that is made is left alone. */
  #troubled(catalog: Catalog): Catalog {
    return new Proxy(catalog, {
      get: (target, name) => {
        const value = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        if (name !== "commit") return value.bind(target);
        return async (change: Parameters<Catalog["commit"]>[0]) => {
          if (change.consumed.length > 0) {
            const trouble = this.next;
            this.next = "none";
            // The process stands still, its renewals too.
            if (trouble === "late_request") block(SHORT_LEASE_MS + 100);
            else this.proxy.trouble = trouble;
          }
          return await target.commit(change);
        };
      },
    });
  }

  async mirror(number: number): Promise<void> {
    const key = segmentKey("mirror", EVENTS_LANE, this.#names.next());
    await this.#store.putNew(key, segmentBytes([number], EVENTS_LANE));
  }

  async drain(leaseMs = LEASE_MS): Promise<DrainOutcome> {
    const { claiming } = this.#deps;
    const deps = claiming === undefined
      ? this.#deps
      : { ...this.#deps, claiming: { ...claiming, leaseMs } };
    const plan = await lookAtLane(deps, EVENTS_LANE, { gate: DRAIN_GATE_OPEN, requested: true });
    return await applyDrain(deps, EVENTS_LANE, plan);
  }

  /** What the table holds, asked past the proxy. */
  async numbers(): Promise<number[]> {
    const location = await this.direct.metadataLocation(EVENTS);
    if (location === undefined) throw new OperatingError("not_found", "there is no table");
    const reader = new IcebergReader(this.#store);
    const table = await reader.loadTable(EVENTS, location);
    const { files } = await reader.selectFiles(table);
    return await numbersIn(this.#store, files.map(({ key }) => key));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.claims[Symbol.asyncDispose]();
    await this.catalog.close();
    await this.direct.close();
    await this.proxy[Symbol.asyncDispose]();
  }
}

/** Stops this thread, as a machine that is suspended stops. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
