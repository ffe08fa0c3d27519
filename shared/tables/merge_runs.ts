/**
 * Several sorted runs of rows into one: a merge by windows of whole columns, not row by row.
 *
 * One batch of each run that has begun is held. The rows up to the earliest end of these batches
 * can be put out: no run has any more of them. So each step uses up one batch at least, and a run
 * is opened when the merge comes to its first row, not before. Held at any time: one batch of each
 * run that overlaps here, and what is put out.
 */

import { othersTurn } from "../base/others_turn.ts";
import { OperatingError } from "../base/errors.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import { sliceRows, sortOrder, takeRows } from "../columns/gather.ts";
import { columnData, halvesOf, type Int64Halves } from "../columns/timestamps.ts";
import type { TableSchema } from "../schema/schema.ts";

/** Rows by `timestamp_ns`, ascending. */
export interface SortedRun {
  /** For messages. */
  readonly name: string;
  /** No row is earlier. */
  readonly startNs: bigint;
  /** Its rows; asked for when the merge comes to `startNs`. All runs have the same columns. */
  batches(): AsyncIterator<ColumnBatch>;
}

/**
 * Rows that one batch of the result has at most, so that other work of the process gets its turn in
 * between.
 */
const ROWS_MAX = 8_192;

/**
 * All rows in order; rows of the same time in any. Errors: the runs', and `corrupt` for a run that
 * is not sorted.
 */
export async function* mergeRuns(runs: readonly SortedRun[]): AsyncGenerator<ColumnBatch> {
  const waiting = runs.toSorted((a, b) => (a.startNs < b.startNs ? -1 : 1));
  let open: OpenRun[] = [];
  for (;;) {
    let end = earliestEnd(open);
    for (
      let next = waiting[0];
      next !== undefined && (end === undefined || next.startNs <= end);
      next = waiting[0]
    ) {
      waiting.shift();
      const run = await OpenRun.open(next);
      if (run !== undefined) open.push(run);
      end = earliestEnd(open);
    }
    if (end === undefined) return;
    yield* mergedUpTo(open, end);
    const left = await Promise.all(open.map((run) => run.advance()));
    open = open.filter((_, at) => left[at]);
  }
}

function earliestEnd(open: readonly OpenRun[]): bigint | undefined {
  let earliest: bigint | undefined;
  for (const { endNs } of open) if (earliest === undefined || endNs < earliest) earliest = endNs;
  return earliest;
}

/** Takes the rows up to `endNs` out of the runs. */
async function* mergedUpTo(open: readonly OpenRun[], endNs: bigint): AsyncGenerator<ColumnBatch> {
  const parts = open.map((run) => run.take(endNs)).filter(({ count }) => count > 0);
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) {
    yield only.count === only.batch.rows
      ? only.run.give()
      : sliceRows(only.batch, only.start, only.start + only.count);
    return;
  }
  const batches = parts.map(({ batch }) => batch);
  const order = sortOrder(parts.map(timesOf));
  for (let i = 0; i < order.row.length; i += 1) {
    const start = (parts[order.batch[i] as number] as Part).start;
    order.row[i] = (order.row[i] as number) + start;
  }
  for (let from = 0; from < order.row.length; from += ROWS_MAX) {
    const to = from + ROWS_MAX;
    yield takeRows(batches, {
      batch: order.batch.subarray(from, to),
      row: order.row.subarray(from, to),
    });
    await othersTurn();
  }
}

/** Rows [start, start + count) of the batch that `run` is in. */
interface Part {
  readonly run: OpenRun;
  readonly batch: ColumnBatch;
  readonly start: number;
  readonly count: number;
}

const TIME_ONLY: TableSchema = {
  columns: [{ id: 1, name: "timestamp_ns", type: "long", required: true }],
  tags: [],
};

/** What sorting needs of a part. */
function timesOf({ batch, start, count }: Part): ColumnBatch {
  const { values } = columnData(batch, "timestamp_ns");
  const times = values.subarray(8 * start, 8 * (start + count));
  const column = { validity: null, nullCount: 0, offsets: null, values: times };
  return { schema: TIME_ONLY, rows: count, columns: [column] };
}

/** A run with the batch that the merge is in. */
class OpenRun {
  readonly #run: SortedRun;
  readonly #batches: AsyncIterator<ColumnBatch>;
  #batch: ColumnBatch;
  #times: Int64Halves;
  /** First row that was not taken. */
  #next = 0;
  #isGiven = false;
  /** Time of the last row of the batch. */
  endNs: bigint;

  private constructor(run: SortedRun, batches: AsyncIterator<ColumnBatch>, batch: ColumnBatch) {
    this.#run = run;
    this.#batches = batches;
    this.#batch = batch;
    this.#times = halvesOf(columnData(batch, "timestamp_ns"), batch.rows);
    this.endNs = checkedEnd(run, this.#times, run.startNs);
  }

  /** undefined for a run without rows. */
  static async open(run: SortedRun): Promise<OpenRun | undefined> {
    const batches = run.batches();
    const batch = await nextFilled(batches);
    return batch === undefined ? undefined : new OpenRun(run, batches, batch);
  }

  /** The rows up to `endNs` that were not taken before. */
  take(endNs: bigint): Part {
    const start = this.#next;
    this.#next = firstAfter(this.#times, endNs, start);
    return { run: this, batch: this.#batch, start, count: this.#next - start };
  }

  /** The whole batch, whose memory is its taker's. */
  give(): ColumnBatch {
    this.#isGiven = true;
    return this.#batch;
  }

  /** Goes on to the next batch when this one is used up; false: the run has ended. */
  async advance(): Promise<boolean> {
    if (this.#next < this.#batch.rows) return true;
    // All of its rows were copied.
    if (!this.#isGiven) this.#batch.release?.();
    this.#isGiven = false;
    const batch = await nextFilled(this.#batches);
    if (batch === undefined) return false;
    this.#batch = batch;
    this.#times = halvesOf(columnData(batch, "timestamp_ns"), batch.rows);
    this.#next = 0;
    this.endNs = checkedEnd(this.#run, this.#times, this.endNs);
    return true;
  }
}

async function nextFilled(batches: AsyncIterator<ColumnBatch>): Promise<ColumnBatch | undefined> {
  for (;;) {
    const next = await batches.next();
    if (next.done === true) return undefined;
    if (next.value.rows > 0) return next.value;
  }
}

/** Time of the last of `times`, which must ascend from `fromNs` on. */
function checkedEnd(run: SortedRun, times: Int64Halves, fromNs: bigint): bigint {
  let high = Number(fromNs >> 32n);
  let low = Number(fromNs & 0xffff_ffffn);
  for (let i = 0; i < times.length; i += 2) {
    const rowLow = (times[i] as number) >>> 0;
    const rowHigh = times[i + 1] as number;
    if (rowHigh < high || (rowHigh === high && rowLow < low)) {
      throw new OperatingError(
        "corrupt",
        `Cannot merge ${run.name}: its rows are not in order of timestamp_ns, although its manifest says so. ` +
          "Rewrite it with the program that wrote it.",
        { reason: "unsorted_file" },
      );
    }
    low = rowLow;
    high = rowHigh;
  }
  return nsAt(times, times.length / 2 - 1);
}

/** The first row from `start` on that is later than `ns`. */
function firstAfter(times: Int64Halves, ns: bigint, start: number): number {
  let low = start;
  let high = times.length / 2;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (nsAt(times, middle) <= ns) low = middle + 1;
    else high = middle;
  }
  return low;
}

function nsAt(times: Int64Halves, row: number): bigint {
  return (BigInt(times[2 * row + 1] as number) << 32n) | BigInt((times[2 * row] as number) >>> 0);
}
