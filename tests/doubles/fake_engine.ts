/**
 * An engine for tests of the server around it. It understands no SQL, yields the rows it was given,
 * and keeps the engine contract (rowsMax + 1, signal, disposal) so that a test can see who breaks
 * it.
 */

import { utf8 } from "../../shared/base/bytes.ts";
import { ROW_ENDS } from "../../shared/engine/answer/render.ts";
import type {
  CheckedPredicate,
  Cost,
  Engine,
  MemoryUse,
  PredicateRequest,
  PreparedQuery,
  QueryRequest,
  ResultChunk,
  ResultColumn,
  RowShape,
  RunningQuery,
  RunProgress,
  StatementsWaiting,
  Stats,
} from "../../shared/engine/types.ts";

export interface FakeEngineOptions {
  /** Values of column `n`. */
  readonly rows?: readonly unknown[];
  readonly chunkRows?: number;
  readonly cost?: Partial<Cost>;
  readonly defaultOrderApplied?: boolean;
  readonly approximation?: Readonly<Record<string, unknown>>;
  /** The uuid of whatever table a predicate is about. */
  readonly tableUuid?: string;
  readonly onPrepare?: (request: QueryRequest) => Promise<void> | void;
  /** Called before chunk `at`; what it throws, the run throws. */
  readonly onChunk?: (at: number, request: QueryRequest) => Promise<void> | void;
}

export const FAKE_COST: Cost = {
  files_to_scan: 1,
  files_considered: 2,
  estimated_bytes_scanned: 300,
  estimated_rows_processed: 40,
  estimated_runtime_seconds: 0.5,
  complexity_class: "small",
  exact: true,
  warnings: [],
};

export const FAKE_STATS: Stats = {
  rows_scanned: 40,
  bytes_scanned: 300,
  spill_bytes: 0,
  phases: { plan_micros: 1, buffer_delta_micros: 2, collect_micros: 3, render_micros: 4 },
  served_by: "scan",
};

export const FAKE_PROGRESS: RunProgress = { rows: 1_234_567, percent: 42.5 };

export const FAKE_MEMORY: MemoryUse = {
  poolBytes: 70,
  poolBytesMax: 1_000,
  spillBytes: 5,
  spillBytesMax: 500,
  consumers: [{ tag: "order_by", bytes: 60 }, { tag: "hash_table", bytes: 10 }],
};

const FAKE_COLUMNS: readonly ResultColumn[] = [{ name: "n", type: "BIGINT" }];

export class FakeEngine implements Engine {
  readonly requests: QueryRequest[] = [];
  readonly predicates: PredicateRequest[] = [];
  /** Prepared and running queries not disposed yet. */
  open = 0;
  chunksTaken = 0;
  pings = 0;
  closed = false;
  problem: string | undefined;
  onPing: () => Promise<void> = () => Promise.resolve();

  constructor(readonly options: FakeEngineOptions = {}) {}

  async prepare(request: QueryRequest): Promise<PreparedQuery> {
    this.requests.push(request);
    await this.options.onPrepare?.(request);
    return {
      columns: FAKE_COLUMNS,
      cost: { ...FAKE_COST, ...this.options.cost },
      tables: [{ table: "events", snapshot_id: "9007199254740993", files: 1 }],
      servedBy: "scan",
      defaultOrderApplied: this.options.defaultOrderApplied ?? false,
      explain: () => Promise.resolve("SEQ_SCAN"),
      turn: () => Promise.resolve(),
      run: () => Promise.resolve(this.#run(request)),
      ...this.#counted(),
    };
  }

  checkPredicate(request: PredicateRequest): Promise<CheckedPredicate> {
    this.predicates.push(request);
    return Promise.resolve({ tableUuid: this.options.tableUuid });
  }

  ping(): Promise<void> {
    this.pings += 1;
    return this.onPing();
  }

  memory(): Promise<MemoryUse> {
    return Promise.resolve(FAKE_MEMORY);
  }

  waiting(): StatementsWaiting {
    return { light: 0, dear: 0, batch: 0, shard: 0 };
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #run(request: QueryRequest): RunningQuery {
    return {
      columns: FAKE_COLUMNS,
      ...(this.options.approximation === undefined
        ? {}
        : { approximation: this.options.approximation }),
      chunks: (shape) => this.#chunks(request, shape),
      arrowSchema: () => new Uint8Array(),
      progress: () => FAKE_PROGRESS,
      stats: () => Promise.resolve(FAKE_STATS),
      ...this.#counted(),
    };
  }

  async *#chunks(request: QueryRequest, shape: RowShape): AsyncGenerator<ResultChunk> {
    const { rows = [], chunkRows = 2, onChunk } = this.options;
    const wanted = rows.slice(0, request.rowsMax + 1);
    for (let at = 0; at * chunkRows < wanted.length || at === 0; at++) {
      await onChunk?.(at, request);
      this.chunksTaken += 1;
      const values = wanted.slice(at * chunkRows, (at + 1) * chunkRows);
      const texts = values.map((n) => {
        const value = shape === "objects" ? { n } : shape === "csv" ? n : [n];
        return JSON.stringify(value) +
          (shape === "arrow" || shape === "arrow_flat" ? "" : ROW_ENDS[shape]);
      });
      yield {
        rowCount: texts.length,
        bytes: (count = texts.length) => utf8(texts.slice(0, count).join("")),
      };
    }
  }

  #counted(): AsyncDisposable {
    this.open += 1;
    let disposed = false;
    return {
      [Symbol.asyncDispose]: () => {
        if (!disposed) this.open -= 1;
        disposed = true;
        return Promise.resolve();
      },
    };
  }
}

/**
 * Rejects with the signal's reason once the caller of `request` is gone; stands for an engine at
 * work.
 */
export function onlyAborted(request: QueryRequest): Promise<never> {
  const { signal } = request;
  return new Promise((_, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
