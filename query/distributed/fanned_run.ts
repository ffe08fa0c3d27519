/**
 * A statement while it runs on many servers: shards come in, and DuckDB makes the answer of them.
 * Where rows need no other shard's, those of a shard are sent when it is done.
 */

import { isOperatingError, messageOf, OperatingError } from "../../shared/base/errors.ts";
import type { ReceivedRows } from "../../shared/engine/shards/received_rows.ts";
import { receivedColumn } from "../../shared/engine/bind/received_sql.ts";
import type {
  DistributedPhases,
  PreparedQuery,
  ResultChunk,
  ResultColumn,
  RowShape,
  RunningQuery,
  RunProgress,
  Stats,
} from "../../shared/engine/types.ts";
import { withReason } from "./alone_statement.ts";
import { fanOut, FanOutEnds, type ShardDone } from "./fan_out.ts";
import type { FannedWork } from "./distribution_options.ts";
import { PeerRefusal } from "./peer_client.ts";
import { writeShardRequest } from "./shard_request.ts";
import { readShardStream, RowKeeper, type ShardRows } from "./shard_stream.ts";

const BYTES_AHEAD_MAX = 4 * 1024 * 1024;
const BYTES_AHEAD_MIN = 256 * 1024;
/** What all shards of a fan-out hold before it is a file. */
const BYTES_AHEAD_TOGETHER = 64 * 1024 * 1024;
const SHARDS_PER_NODE = 2;

export class FannedRun implements RunningQuery {
  readonly #statement: FannedWork;
  readonly #received: ReceivedRows;
  readonly #columns: readonly ResultColumn[];
  readonly #arrowSchema: RunningQuery["arrowSchema"];
  readonly #done: ShardDone<ShardRows>[] = [];
  readonly #held = new AsyncDisposableStack();
  #alone: RunningQuery | undefined;
  /** Whether rows were handed out. */
  #hasSent = false;
  #mergeMs = 0;
  #merged: Stats | undefined;

  private constructor(
    statement: FannedWork,
    { received, empty }: { readonly received: ReceivedRows; readonly empty: RunningQuery },
  ) {
    this.#statement = statement;
    this.#received = this.#held.use(received);
    this.#columns = empty.columns;
    this.#arrowSchema = (names) => empty.arrowSchema(names);
  }

  /** Finds out what the answer's columns are. Errors: those of `Engine.prepare`. */
  static async start(statement: FannedWork): Promise<FannedRun> {
    const { engine, metrics } = statement.context;
    if (engine.receive === undefined) throw new Error("an engine that spreads also receives");
    await using stack = new AsyncDisposableStack();
    const empty = stack.use(await engine.prepare(statement.merging([])));
    const running = await empty.run();
    const received = stack.use(await engine.receive());
    const run = new FannedRun(statement, { received, empty: running });
    stack.move();
    await empty[Symbol.asyncDispose]();
    metrics.fanOuts.add(1, { mode: statement.spread.split.mode });
    return run;
  }

  get columns(): readonly ResultColumn[] {
    return this.#columns;
  }

  arrowSchema(names?: readonly string[]): Uint8Array<ArrayBuffer> {
    return this.#arrowSchema(names);
  }

  async *chunks(shape: RowShape): AsyncGenerator<ResultChunk> {
    const { isByShard, rowsMax } = this.#statement.spread.split;
    // A batch of Arrow is not cut where a limit is reached within it.
    const isCuttable = shape !== "arrow" || rowsMax === undefined;
    try {
      if (isByShard && isCuttable && shape !== "arrays") yield* this.#asTheyCome(shape);
      else yield* this.#whole(shape);
    } catch (error) {
      if (!(error instanceof StatementFails) || this.#hasSent) throw causeOf(error);
      yield* this.#runAlone(shape, error);
    }
  }

  progress(): RunProgress {
    if (this.#alone !== undefined) return this.#alone.progress();
    const rows = this.#done.reduce((sum, { value }) => sum + value.stats.rows_scanned, 0);
    const { shards } = this.#statement;
    const all = shards.reduce((sum, { bytes }) => sum + bytes, 0);
    const bytes = this.#done.reduce((sum, one) => sum + one.bytes, 0);
    return { rows, percent: all === 0 ? undefined : 100 * bytes / all };
  }

  async stats(): Promise<Stats> {
    if (this.#alone !== undefined) return await this.#alone.stats();
    const sum = (of: (stats: ShardRows["stats"]) => number) =>
      this.#done.reduce((all, { value }) => all + of(value.stats), 0);
    const { spread: { planMs } } = this.#statement;
    return {
      rows_scanned: sum(({ rows_scanned: rows }) => rows),
      bytes_scanned: sum(({ bytes_scanned: bytes }) => bytes),
      spill_bytes: sum(({ spill_bytes: bytes }) => bytes) + (this.#merged?.spill_bytes ?? 0),
      served_by: "scan",
      ...this.#scanStats(),
      ...this.#pin(),
      phases: {
        plan_micros: micros(planMs),
        buffer_delta_micros: 0,
        collect_micros: micros(this.#mergeMs),
        render_micros: this.#merged?.phases.render_micros ?? 0,
        distributed: this.#phases(),
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held.disposeAsync();
  }

  #pin() {
    const { spread: { pin }, context: { request } } = this.#statement;
    return request.snapshot === undefined ? {} : { snapshot: pin };
  }

  /** Counts of all shards together; what is no count is told by one server alone. */
  #scanStats(): Pick<Stats, "scan"> {
    const sums: Record<string, number> = {};
    for (const { value: { stats: { scan = {} } } } of this.#done) {
      for (const [name, value] of Object.entries(scan)) {
        if (typeof value === "number") sums[name] = (sums[name] ?? 0) + value;
      }
    }
    if (Object.keys(sums).length === 0) return {};
    return {
      scan: { ...sums, ordering: "no_sort_order" } as unknown as NonNullable<Stats["scan"]>,
    };
  }

  #phases(): DistributedPhases {
    const { spread: { split } } = this.#statement;
    const sorted = this.#done.toSorted((a, b) => a.index - b.index);
    return {
      mode: split.mode,
      shard_wall_micros: sorted.map(({ wallMs }) => micros(wallMs)),
      merge_micros: micros(this.#mergeMs),
      received_bytes: this.#received.bytes,
      shards: sorted.map(({ node, value, wallMs, attempts }) => ({
        server: node,
        rows: value.rows,
        bytes_scanned: value.stats.bytes_scanned,
        wall_micros: micros(wallMs),
        attempts,
      })),
    };
  }

  /** Rows of each shard when it is done; a limit ends the others. */
  async *#asTheyCome(shape: RowShape): AsyncGenerator<ResultChunk> {
    let left = this.#statement.spread.split.rowsMax ?? Infinity;
    for await (const shard of this.#shards()) {
      if (shard.value.files.length === 0) continue;
      for await (const chunk of this.#merge([shard], shape)) {
        const rowCount = Math.min(left, chunk.rowCount);
        left -= rowCount;
        if (rowCount > 0) yield { rowCount, bytes: (rows = rowCount) => chunk.bytes(rows) };
      }
      if (left === 0) return;
    }
  }

  async *#whole(shape: RowShape): AsyncGenerator<ResultChunk> {
    const { split: { mode, rowsMax = Infinity } } = this.#statement.spread;
    let rows = 0;
    for await (const shard of this.#shards()) {
      rows += shard.value.rows;
      // Which rows a limit without an order leaves is open.
      if (mode === "scan" && rows >= rowsMax) break;
    }
    yield* this.#merge(this.#done, shape);
  }

  async *#shards(): AsyncGenerator<ShardDone<ShardRows>> {
    const { shards, nodes, signal, context } = this.#statement;
    const { self, peers, metrics, clock } = context;
    const done = fanOut({
      ...{ shards, nodes, self, signal },
      run: (shard, node, ends) => this.#shard(shard, node, ends),
      isUp: (node) => peers.ready.includes(node),
      told: (outcome, wallMs) => {
        metrics.shardAttempts.add(1, { outcome });
        if (outcome === "ok") metrics.shardSecs.observe(wallMs / 1_000);
      },
      nowMs: () => clock.monotonicMs(),
    });
    for await (const shard of done) {
      this.#done.push(shard);
      yield shard;
    }
  }

  async #shard(shard: number, node: string, signal: AbortSignal): Promise<ShardRows> {
    const { self, peers } = this.#statement.context;
    try {
      return node === self
        ? await this.#shardHere(shard, signal)
        : await this.#shardThere(shard, node, signal);
    } catch (error) {
      if (isOperatingError(error) && error.reason === "shard_bytes") throw new FanOutEnds(error);
      if (isOfStatement(error)) throw new FanOutEnds(new StatementFails(error));
      if (isOperatingError(error, "deadline_exceeded")) throw new FanOutEnds(error);
      if (node !== self && !signal.aborted && isLost(error)) peers.failed(node, error);
      throw error;
    }
  }

  async #shardHere(shard: number, signal: AbortSignal): Promise<ShardRows> {
    const { engine } = this.#statement.context;
    await using prepared = await engine.prepare(this.#statement.runningHere(shard, signal));
    await using running = await prepared.run();
    const keeper = new RowKeeper(this.#received, this.#bytesAhead());
    await keeper.add(running.arrowSchema(running.columns.map((_, at) => receivedColumn(at))));
    for await (const chunk of running.chunks("arrow")) await keeper.add(chunk.bytes());
    const { rows_scanned, bytes_scanned, spill_bytes, scan } = await running.stats();
    const counts = scan === undefined ? {} : { scan: { ...scan } };
    return {
      ...await keeper.end(),
      stats: { rows_scanned, bytes_scanned, spill_bytes, ...counts },
    };
  }

  async #shardThere(shard: number, node: string, signal: AbortSignal): Promise<ShardRows> {
    const { context: { client, made: { caller } }, spread, shards } = this.#statement;
    const body = writeShardRequest({
      query: spread.split.workerSql,
      shard: { index: shard, count: shards.length },
      table: spread.split.table,
      pin: spread.pin,
      files: shards[shard]?.files ?? [],
      namespace: caller.namespace,
      tenant: caller.tenant,
      subject: caller.subject,
      email: caller.email,
      timeoutMs: this.#statement.leftMs(),
    });
    const answer = await client.shard(node, body, signal);
    const bytesAhead = this.#bytesAhead();
    return await readShardStream(answer, { received: this.#received, bytesAhead, signal });
  }

  #bytesAhead(): number {
    const share = BYTES_AHEAD_TOGETHER / (SHARDS_PER_NODE * this.#statement.nodes.length);
    return Math.max(BYTES_AHEAD_MIN, Math.min(BYTES_AHEAD_MAX, Math.floor(share)));
  }

  async *#merge(
    shards: readonly ShardDone<ShardRows>[],
    shape: RowShape,
  ): AsyncGenerator<ResultChunk> {
    const { engine, clock, made } = this.#statement.context;
    const files = shards.flatMap(({ value }) => value.files);
    const startMs = clock.monotonicMs();
    await made.reserve(files.reduce((sum, { byteLength }) => sum + byteLength, 0));
    await using prepared = await engine.prepare(this.#statement.merging(files));
    await using running = await prepared.run();
    let waitedMs = 0;
    for await (const chunk of running.chunks(shape)) {
      this.#hasSent = true;
      const sentMs = clock.monotonicMs();
      yield chunk;
      waitedMs += clock.monotonicMs() - sentMs;
    }
    this.#merged = await running.stats();
    this.#mergeMs += clock.monotonicMs() - startMs - waitedMs;
  }

  /** A server refused the statement itself: the message is that of this server. */
  async *#runAlone(shape: RowShape, { cause }: StatementFails): AsyncGenerator<ResultChunk> {
    const { engine, request } = this.#statement.context;
    const prepared: PreparedQuery = this.#held.use(
      await engine.prepare({ ...request, deadlineMs: this.#statement.leftMs() }),
    );
    this.#alone = withReason(await prepared.run(), `a shard was refused: ${messageOf(cause)}`);
    yield* this.#alone.chunks(shape);
  }
}

/** A server refused the statement, not the shard. */
class StatementFails extends Error {
  override readonly name = "StatementFails";
  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
  }
}

function causeOf(error: unknown): unknown {
  return error instanceof StatementFails ? error.cause : error;
}

/** Whether no other server would do better with it. */
function isOfStatement(error: unknown): boolean {
  if (error instanceof PeerRefusal) {
    return [400, 413, 422].includes(error.status) && error.reason !== "no_peers";
  }
  return isOperatingError(error, "invalid_argument") || isOperatingError(error, "too_large");
}

/** Whether the server itself is lost, and not just busy or behind. */
function isLost(error: unknown): boolean {
  if (error instanceof OperatingError) return error.reason === "shard_cut_short";
  return !(error instanceof PeerRefusal) || error.status === 401 || error.status === 403;
}

function micros(ms: number): number {
  return Math.round(1_000 * ms);
}
