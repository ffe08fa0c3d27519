/** A statement on many servers, prepared: priced, explained, run once, disposed. */

import { OperatingError } from "../../shared/base/errors.ts";
import type { Spread } from "../../shared/engine/shards/spread.ts";
import type { ReceivedFile, ReceivedTable } from "../../shared/engine/shards/shard.ts";
import { PARTS_TABLE } from "../../shared/engine/spread/types.ts";
import type {
  Cost,
  PlannedTable,
  PreparedQuery,
  QueryRequest,
  ResultColumn,
  RunningQuery,
} from "../../shared/engine/types.ts";
import { carriesType } from "./carried_types.ts";
import { type CutShard, cutShards } from "./cut_shards.ts";
import type { FannedContext, FannedWork } from "./distribution_options.ts";
import { FannedRun } from "./fanned_run.ts";

export class FannedStatement implements PreparedQuery, FannedWork {
  readonly servedBy = "scan";
  readonly #stop = new AbortController();
  readonly #held = new AsyncDisposableStack();
  readonly #deadlineMs: number;
  #slot: Disposable | undefined;

  private constructor(
    readonly spread: Spread,
    readonly context: FannedContext,
    private readonly own: {
      /** Columns of the answer. */
      readonly answered: readonly ResultColumn[];
      /** Columns of the first half. */
      readonly columns: readonly ResultColumn[];
      readonly shards: readonly CutShard[];
      readonly nodes: readonly string[];
    },
  ) {
    this.#deadlineMs = context.startedMs + context.request.deadlineMs;
    this.#held.use(spread);
  }

  /**
   * Takes over the spread. Returns a reason where the statement cannot be shared after all. Errors:
   * those of `Engine.prepare` for the statement's halves.
   */
  static async open(
    spread: Spread,
    context: FannedContext,
  ): Promise<FannedStatement | { readonly reason: string }> {
    using held = new DisposableStack();
    held.use(spread);
    const { engine, request, peers, self } = context;
    // Their columns alone are asked for, which takes no files.
    const shard = { table: spread.split.table, files: [], count: 1 };
    const { frozen } = spread;
    await using first = await engine.prepare({
      ...halfOf(request, spread.split.workerSql),
      shard,
      frozen,
      planOnly: true,
    });
    const { columns } = first;
    const foreign = columns.find(({ type }) => !carriesType(type));
    if (foreign !== undefined) {
      return { reason: `a column of type ${foreign.type} does not cross between servers` };
    }
    await using asked = await engine.prepare({
      ...request,
      shard,
      frozen,
      fastPaths: false,
      planOnly: true,
    });
    await using merge = await engine.prepare({
      ...halfOf(request, spread.split.mergeSql),
      received: { name: PARTS_TABLE, columns, files: [] },
      planOnly: true,
    });
    const renamed = asked.columns.find(({ name }, at) => name !== merge.columns[at]?.name);
    if (renamed !== undefined || asked.columns.length !== merge.columns.length) {
      return { reason: `its column ${renamed?.name} would have another name` };
    }
    const nodes = [self, ...peers.ready.filter((node) => node !== self)];
    const own = withWal(cutShards(spread.files, nodes), { self, hasWal: spread.hasWalRows });
    held.move();
    return new FannedStatement(spread, context, {
      answered: asked.columns,
      columns,
      shards: own,
      nodes,
    });
  }

  get columns(): readonly ResultColumn[] {
    return this.own.answered;
  }

  get cost(): Cost {
    return this.spread.cost;
  }

  get tables(): readonly PlannedTable[] {
    return this.spread.tables;
  }

  get defaultOrderApplied(): boolean {
    return this.spread.defaultOrderApplied;
  }

  /** It reserves memory for its merge, when its shards are done. */
  get reservesLater(): boolean {
    return true;
  }

  get shards(): readonly CutShard[] {
    return this.own.shards;
  }

  get nodes(): readonly string[] {
    return this.own.nodes;
  }

  get signal(): AbortSignal {
    const { signal } = this.context.request;
    return signal === undefined ? this.#stop.signal : AbortSignal.any([signal, this.#stop.signal]);
  }

  leftMs(): number {
    const leftMs = this.#deadlineMs - this.context.clock.monotonicMs();
    if (leftMs > 0) return leftMs;
    throw new OperatingError("deadline_exceeded", "The wall clock ran out", { reason: "timeout" });
  }

  merging(files: readonly ReceivedFile[]): QueryRequest {
    const { request } = this.context;
    const received: ReceivedTable = { name: PARTS_TABLE, columns: this.own.columns, files };
    return {
      ...halfOf(request, this.spread.split.mergeSql),
      deadlineMs: this.leftMs(),
      received,
    };
  }

  runningHere(shard: number, signal: AbortSignal): QueryRequest {
    const { split, frozen, hasWalRows } = this.spread;
    const files = this.shards[shard]?.files ?? [];
    return {
      ...halfOf(this.context.request, split.workerSql),
      deadlineMs: this.leftMs(),
      rowsMax: Number.MAX_SAFE_INTEGER,
      frozen,
      // The rows that only the WAL holds are in the shard without files.
      shard: {
        table: split.table,
        files,
        count: this.shards.length,
        hasWalRows: hasWalRows && files.length === 0,
      },
      signal,
    };
  }

  /** How it is shared, without the plans of the servers. */
  explain(): Promise<string> {
    const { split: { mode, workerSql, mergeSql } } = this.spread;
    const { shards, nodes } = this.own;
    return Promise.resolve([
      `distributed: ${mode}, ${shards.length} shards on ${nodes.length} servers`,
      `each shard: ${workerSql}`,
      `merge: ${mergeSql}`,
    ].join("\n"));
  }

  async turn(): Promise<void> {
    const { slots, admission, request } = this.context;
    this.#slot ??= await slots.take(this.signal, {
      key: request.tenant,
      ...(request.batch === true ? {} : { waitMs: admission.turnWaits.dear }),
    });
  }

  async run(): Promise<RunningQuery> {
    await this.turn();
    return this.#held.use(await FannedRun.start(this));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new OperatingError("cancelled", "The query is over"));
    try {
      await this.#held.disposeAsync();
    } finally {
      this.#slot?.[Symbol.dispose]();
    }
  }
}

/** A half of the statement, for the same caller. Its parameters are written into it. */
function halfOf(
  { namespace, tenant, rowsMax, rowsScannedMax, deadlineMs, waitMs, signal }: QueryRequest,
  sql: string,
): QueryRequest {
  return {
    ...{ sql, namespace, tenant, rowsMax, deadlineMs },
    defaultOrder: false,
    fastPaths: false,
    ...(rowsScannedMax === undefined ? {} : { rowsScannedMax }),
    ...(waitMs === undefined ? {} : { waitMs }),
    ...(signal === undefined ? {} : { signal }),
  };
}

/** Rows that only the WAL holds are a shard of this server's own. */
function withWal(
  shards: readonly CutShard[],
  { self, hasWal }: { readonly self: string; readonly hasWal: boolean },
): readonly CutShard[] {
  return hasWal ? [{ node: self, files: [], bytes: 0, isOwn: true }, ...shards] : shards;
}
