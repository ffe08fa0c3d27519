/**
 * Which data files of a table to merge now: a pure decision over what its manifests say.
 *
 * Within a day, files are in tiers by their rows: tier t has 8^t up to 8^(t+1) - 1. Eight files of
 * a tier become one of the next, so a row is written again once for each tier at most, however the
 * rows come. A file that was cut because it had reached the largest size, or that a
 * drain made about as large, is full, and done with. Three things make a task, most urgent first:
 *
 * - `overlap`: more than `depthMax` files cover one instant, so that a query for it would read all
 *   of them. The smaller ones are merged. Late rows end up in order by this.
 * - `tier`: a tier has `fanIn` files.
 * - `settled`: the day is over, nothing came to it for a while, and it has small files left.
 *
 * Invariants: tasks have no file in common. A task has files of one day, at least two. What it
 * reads, how many files that are, and how many of them overlap is bounded. Files that are not
 * sorted or have no bounds are left alone.
 */

import type { DataFile } from "../iceberg/types.ts";

export interface MergeCandidate {
  readonly file: DataFile;
  /** It was cut because it had reached the largest size. */
  readonly isFull: boolean;
  /** It has been in the table for a while. */
  readonly isSettled: boolean;
}

/** When files are due for a merge, and how large one may be. */
export interface MergePolicy {
  /** Files of a tier that become one. */
  readonly fanIn: number;
  /** Files of a day that may cover one instant. */
  readonly depthMax: number;
  /** Files of one task that may cover one instant: of each, one row group is in memory. */
  readonly taskDepthMax: number;
  readonly taskFilesMax: number;
  /** Compressed bytes that one task reads, two files apart. */
  readonly taskBytesMax: number;
  /** A larger file is another program's; it is left alone. */
  readonly fileBytesMax: number;
}

const MIB = 1024 * 1024;

export const MERGE_POLICY_DEFAULT: MergePolicy = {
  fanIn: 8,
  depthMax: 10,
  taskDepthMax: 12,
  taskFilesMax: 256,
  taskBytesMax: 256 * MIB,
  fileBytesMax: 128 * MIB,
};

export type MergeReason = "overlap" | "tier" | "settled";

/** Files to merge, and why. */
export interface MergeTask {
  readonly day: number;
  readonly reason: MergeReason;
  /** By time. */
  readonly files: readonly DataFile[];
}

export interface MergeState {
  readonly candidates: readonly MergeCandidate[];
  /** Sort order id of the table's own order; files with another are left alone. */
  readonly sortOrderId: number;
  /** Days since 1970-01-01. */
  readonly today: number;
}

/** One task for each day that has something to merge, most urgent first. */
export function planFileMerges(state: MergeState, policy: MergePolicy): MergeTask[] {
  const tasks: MergeTask[] = [];
  for (const [day, candidates] of byDay(state, policy)) {
    const isOver = day < state.today;
    const task = overlapTask(candidates, policy) ?? tierTask(candidates, policy) ??
      (isOver ? settledTask(candidates, policy) : undefined);
    if (task !== undefined) tasks.push({ day, ...task });
  }
  const urgency: Record<MergeReason, number> = { overlap: 0, tier: 1, settled: 2 };
  // Newest days first among equals: they are asked for most.
  return tasks.sort((a, b) => urgency[a.reason] - urgency[b.reason] || b.day - a.day);
}

/**
 * The largest number of files of one day that overlap somewhere; those without bounds do not count.
 */
export function overlapDepth(files: readonly DataFile[]): number {
  return deepest(files.flatMap(spanOf)).length;
}

type Task = Omit<MergeTask, "day">;

/** A file with known bounds. */
interface Span {
  readonly file: DataFile;
  readonly minNs: bigint;
  readonly maxNs: bigint;
}

interface Candidate extends Span {
  readonly isFull: boolean;
  readonly isSettled: boolean;
}

function byDay(
  { candidates, sortOrderId }: MergeState,
  policy: MergePolicy,
): Map<number, Candidate[]> {
  const days = new Map<number, Candidate[]>();
  for (const { file, isFull, isSettled } of candidates) {
    if (file.sortOrderId !== sortOrderId || file.byteLength > policy.fileBytesMax) continue;
    for (const span of spanOf(file)) {
      const day = days.get(file.day) ?? [];
      day.push({ ...span, isFull, isSettled });
      days.set(file.day, day);
    }
  }
  for (const day of days.values()) day.sort(byTime);
  return days;
}

function spanOf(file: DataFile): Span[] {
  const { timestampNsMin: minNs, timestampNsMax: maxNs } = file;
  return minNs === undefined || maxNs === undefined ? [] : [{ file, minNs, maxNs }];
}

function byTime(a: Span, b: Span): number {
  if (a.minNs !== b.minNs) return a.minNs < b.minNs ? -1 : 1;
  return a.file.key < b.file.key ? -1 : 1;
}

function overlapTask(candidates: readonly Candidate[], policy: MergePolicy): Task | undefined {
  // Full files of one instant cannot be put apart: merging them would give the same again.
  const covering = deepest(
    candidates.filter(({ isFull, minNs, maxNs }) => !isFull || minNs < maxNs),
  );
  if (covering.length <= policy.depthMax) return undefined;
  return taskOf("overlap", bounded(evenlyDense(covering), policy));
}

/**
 * Takes the sparsest first: two, and each further one that is no denser than all before it
 * together. What is dense was merged before, and is not written again for the sake of a few rows.
 * With 8,640 files over a whole day each row was so written five times (simulated). Merging half of
 * those that overlap, smallest first, wrote it 145 times.
 */
function evenlyDense(covering: readonly Candidate[]): Candidate[] {
  const sparsestFirst = covering.toSorted((a, b) => densityOf(a) - densityOf(b));
  let sum = 0;
  const end = sparsestFirst.findIndex((span, at) => {
    const density = densityOf(span);
    if (at >= 2 && density > sum) return true;
    sum += density;
    return false;
  });
  return end < 0 ? sparsestFirst : sparsestFirst.slice(0, end);
}

/** Rows in a nanosecond. */
function densityOf({ file, minNs, maxNs }: Span): number {
  return file.rows / (Number(maxNs - minNs) + 1);
}

function tierTask(candidates: readonly Candidate[], policy: MergePolicy): Task | undefined {
  const small = candidates.filter(({ isFull }) => !isFull);
  const tiers = small.map(({ file }) => tierOf(file.rows, policy));
  const tierMax = Math.max(...tiers);
  for (let tier = 0; tier <= tierMax; tier += 1) {
    if (tiers.filter((other) => other === tier).length < policy.fanIn) continue;
    // What is in lower tiers costs little more, and is gone then.
    const members = small.filter((_, at) => (tiers[at] as number) <= tier);
    return taskOf("tier", bounded(members, policy));
  }
  return undefined;
}

function settledTask(candidates: readonly Candidate[], policy: MergePolicy): Task | undefined {
  if (candidates.some(({ isSettled }) => !isSettled)) return undefined;
  const small = candidates.filter(({ isFull }) => !isFull);
  return taskOf("settled", bounded(small, policy));
}

/** undefined: a single file is merged already. */
function taskOf(reason: MergeReason, spans: readonly Span[]): Task | undefined {
  if (spans.length < 2) return undefined;
  return { reason, files: spans.toSorted(byTime).map(({ file }) => file) };
}

/** The first of `spans`, as many as one task may have. */
function bounded(spans: readonly Span[], policy: MergePolicy): Span[] {
  const taken: Span[] = [];
  let bytes = 0;
  for (const span of spans) {
    bytes += span.file.byteLength;
    if (taken.length >= policy.taskFilesMax) break;
    if (taken.length >= 2 && bytes > policy.taskBytesMax) break;
    taken.push(span);
  }
  return withinDepth(taken, policy.taskDepthMax);
}

/** Leaves out the last of `spans` that cover an instant which too many cover. */
function withinDepth(spans: readonly Span[], depthMax: number): Span[] {
  let left = [...spans];
  for (;;) {
    const covering = new Set(deepest(left));
    if (covering.size <= depthMax) return left;
    const dropped = new Set(left.filter((span) => covering.has(span)).slice(depthMax));
    left = left.filter((span) => !dropped.has(span));
  }
}

/**
 * The spans that cover the place in time where most do, the earliest such place. Spans that only
 * touch do not overlap, nor does one of a single instant: merging such ones could give the same
 * files again, for ever. Those that overlap come out of a merge one after another, and nowhere are
 * there more than before.
 */
function deepest<S extends Span>(spans: readonly S[]): S[] {
  const long = spans.filter(({ minNs, maxNs }) => minNs < maxNs).sort(byTime);
  const ends = long.map(({ maxNs }) => maxNs).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  let ended = 0;
  let depthMax = 0;
  let atNs = 0n;
  long.forEach(({ minNs }, begun) => {
    while ((ends[ended] as bigint) <= minNs) ended += 1;
    const depth = begun + 1 - ended;
    if (depth <= depthMax) return;
    depthMax = depth;
    atNs = minNs;
  });
  return long.filter(({ minNs, maxNs }) => minNs <= atNs && atNs < maxNs);
}

function tierOf(rows: number, { fanIn }: MergePolicy): number {
  let tier = 0;
  for (let size = rows; size >= fanIn; size = Math.floor(size / fanIn)) tier += 1;
  return tier;
}
