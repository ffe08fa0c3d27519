/**
 * Our engine and raw DuckDB over the same data files in one process, with the same threads and
 * memory. Each statement runs in turn, ours then raw, and medians are compared.
 */

import { DuckDBInstance } from "@duckdb/node-api";
import { ADMISSION_OPTIONS } from "../../query/admission/admission_flags.ts";
import type { EngineProcesses } from "../../shared/engine/duckdb/open_databases.ts";
import { openEngine } from "../../shared/engine/open_engine.ts";
import type { RowIndexes } from "../../shared/engine/pruning/row_index.ts";
import type { Engine } from "../../shared/engine/types.ts";
import { DEFAULT_NAMESPACE, DEFAULT_TENANT } from "../../shared/tenant/tenant.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { median } from "./benchmark.ts";
import type { TableFixture } from "./table_fixture.ts";

export interface PairQuery {
  readonly what: string;
  /** Over the table `events`. */
  readonly ours: string;
  /** The statement for raw DuckDB, over the relation `files`. */
  readonly raw: string;
}

export interface PairTimes {
  readonly oursMs: number;
  readonly rawMs: number;
}

const MEMORY_BYTES = 4 * 1024 ** 3;
const SPILL_BYTES = 4 * 1024 ** 3;
const ROWS_MAX = 10_000;
const DEADLINE_MS = 300_000;

export class EnginePair implements AsyncDisposable {
  private constructor(
    readonly engine: Engine,
    readonly instance: DuckDBInstance,
    readonly relation: string,
  ) {}

  /**
   * `name`: of the engine's own folder, where a table has several; `indexes`: in place of those of
   * its data files. With `processes` its DuckDB has a process of its own, as in a query server.
   */
  static async open(
    table: TableFixture,
    { name = "cache", indexes, processes }: {
      readonly name?: string;
      readonly indexes?: RowIndexes;
      readonly processes?: EngineProcesses;
    } = {},
  ): Promise<EnginePair> {
    const engine = await openEngine({
      store: table.store,
      catalog: table.catalog,
      files: new DenoFileSystem(),
      cacheDir: `${table.dir}/${name}`,
      ...(indexes === undefined ? {} : { indexes }),
      ...(processes === undefined ? {} : { processes }),
      memoryBytesMax: MEMORY_BYTES,
      spillBytesMax: SPILL_BYTES,
      // The niceness that a query server has.
      dearNiceness: ADMISSION_OPTIONS.dearNiceness.default,
      clock: new SystemClock(),
      random: new SystemRandom(),
    });
    const instance = await DuckDBInstance.create(":memory:", {
      memory_limit: `${MEMORY_BYTES}B`,
    });
    const list = table.paths.map((path) => `'${path}'`).join(", ");
    return new EnginePair(engine, instance, `read_parquet([${list}])`);
  }

  /**
   * Median times of `rounds` runs each, after one warm-up each; throws when the row counts differ.
   * `nowMs`: what is taken for time.
   */
  async compare(
    query: PairQuery,
    rounds: number,
    nowMs = () => performance.now(),
  ): Promise<PairTimes> {
    const ours: number[] = [];
    const raw: number[] = [];
    for (let round = -1; round < rounds; round += 1) {
      const [oursMs, oursRows] = await timed(() => this.ask(query.ours), nowMs);
      const [rawMs, rawRows] = await timed(() => this.#runRaw(query.raw), nowMs);
      if (oursRows !== rawRows) {
        throw new Error(`${query.what}: ${oursRows} rows from the engine, ${rawRows} from DuckDB`);
      }
      if (round < 0) continue;
      ours.push(oursMs);
      raw.push(rawMs);
    }
    return { oursMs: median(ours), rawMs: median(raw) };
  }

  /** Runs one statement on the engines of two pairs in turn. */
  async compareEngines(
    other: EnginePair,
    sql: string,
    rounds: number,
  ): Promise<{ readonly oursMs: number; readonly otherMs: number }> {
    const [ours, others]: [number[], number[]] = [[], []];
    for (let round = -1; round < rounds; round += 1) {
      const [oursMs] = await timed(() => this.ask(sql));
      const [otherMs] = await timed(() => other.ask(sql));
      if (round < 0) continue;
      ours.push(oursMs);
      others.push(otherMs);
    }
    return { oursMs: median(ours), otherMs: median(others) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.engine.close();
    this.instance.closeSync();
  }

  /**
   * Runs one statement on the engine, without fast paths; how many rows it answers. `rowsMax`: how
   * many it may answer.
   */
  async ask(sql: string, rowsMax = ROWS_MAX): Promise<number> {
    await using prepared = await this.engine.prepare({
      sql,
      namespace: DEFAULT_NAMESPACE,
      tenant: DEFAULT_TENANT,
      defaultOrder: true,
      // Both read the rows.
      fastPaths: false,
      rowsMax,
      deadlineMs: DEADLINE_MS,
    });
    await using running = await prepared.run();
    let rows = 0;
    for await (const chunk of running.chunks("arrays")) rows += chunk.rowCount;
    return rows;
  }

  async #runRaw(sql: string): Promise<number> {
    const connection = await this.instance.connect();
    try {
      const reader = await connection.runAndReadAll(sql.replace("files", this.relation));
      return reader.getRowsJson().length;
    } finally {
      connection.closeSync();
    }
  }
}

async function timed<T>(
  action: () => Promise<T>,
  nowMs = () => performance.now(),
): Promise<[number, T]> {
  const start = nowMs();
  const value = await action();
  return [nowMs() - start, value];
}
