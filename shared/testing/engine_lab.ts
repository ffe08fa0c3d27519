/** DuckDB over a warehouse and WAL of its own, for tests: rows are committed, then queried. */

import { textOf } from "../base/bytes.ts";
import { type EngineOptions, openEngine } from "../engine/open_engine.ts";
import type { Engine, QueryRequest, Stats } from "../engine/types.ts";
import { SystemClock } from "../os/clock.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { SystemRandom } from "../os/random.ts";
import { openWalReader } from "../wal/reader.ts";
import { makeWarehouse, type Warehouse, WarehouseLab } from "./warehouse_lab.ts";
import type { WarehouseLabOptions } from "./warehouse_lab.ts";

export type { LabEvent } from "./warehouse_lab.ts";

export interface EngineLabOptions extends WarehouseLabOptions {
  readonly engine?: Partial<EngineOptions>;
}

export interface LabAnswer {
  readonly columns: readonly string[];
  readonly types: readonly string[];
  /** Each row as its JSON text was parsed. */
  readonly rows: readonly (readonly unknown[])[];
  readonly texts: readonly string[];
  readonly stats: Stats;
}

/** Tests whose rows only a server reads need no engine: they open a `WarehouseLab`. */
export class EngineLab extends WarehouseLab {
  private constructor(
    warehouse: Warehouse,
    private readonly opened: { readonly open: () => Promise<Engine>; engine: Engine },
  ) {
    super(warehouse);
  }

  get engine(): Engine {
    return this.opened.engine;
  }

  /** From now on another engine, which knows nothing yet. */
  async restartEngine(): Promise<void> {
    await this.engine.close();
    this.opened.engine = await this.opened.open();
  }

  static override async open(options: EngineLabOptions = {}): Promise<EngineLab> {
    const warehouse = await makeWarehouse(options);
    const { dir, store, catalog, wal } = warehouse;
    const files = new DenoFileSystem();
    const open = () =>
      openEngine({
        ...{ store, catalog, files },
        ...(wal === undefined ? {} : { wal: openWalReader(files, `${dir}/wal`) }),
        cacheDir: `${dir}/cache`,
        memoryBytesMax: 512 * 2 ** 20,
        spillBytesMax: 512 * 2 ** 20,
        threads: 2,
        clock: new SystemClock(),
        random: new SystemRandom(),
        ...options.engine,
      });
    return new EngineLab(warehouse, { open, engine: await open() });
  }

  /** Prepares a statement with a test's defaults. */
  prepare(sql: string, options: Partial<QueryRequest> = {}) {
    return this.engine.prepare({
      sql,
      namespace: "svc",
      tenant: "default",
      defaultOrder: false,
      rowsMax: 10_000,
      deadlineMs: 20_000,
      ...options,
    });
  }

  /** Runs a statement to its end. */
  async query(sql: string, options: Partial<QueryRequest> = {}): Promise<LabAnswer> {
    await using prepared = await this.prepare(sql, options);
    await using running = await prepared.run();
    const texts: string[] = [];
    for await (const chunk of running.chunks("arrays")) {
      texts.push(...arrayTexts(textOf(chunk.bytes())));
    }
    return {
      columns: running.columns.map((column) => column.name),
      types: running.columns.map((column) => column.type),
      rows: texts.map((text) => JSON.parse(text) as unknown[]),
      texts,
      stats: await running.stats(),
    };
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.engine.close();
    await super[Symbol.asyncDispose]();
  }
}

/** The texts of JSON arrays that each end with a comma: `[1],["],"],` is `[1]` and `["],"]`. */
function arrayTexts(text: string): string[] {
  const texts: string[] = [];
  let depth = 0;
  let start = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]]/g)) {
    if (token === "[") depth += 1;
    if (token !== "]") continue;
    depth -= 1;
    if (depth > 0) continue;
    texts.push(text.slice(start, index + 1));
    start = index + 2;
  }
  return texts;
}
