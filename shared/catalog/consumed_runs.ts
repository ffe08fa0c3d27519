/**
 * Consumed segments whose files are gone, kept for ever in little room. A segment's name holds its
 * writer and its number (`SegmentOrdinal`), so the consumed segments of one writer are a few runs
 * of numbers. A run holds consumed segments only: one that was set aside is a hole in it, and fills
 * the hole when it is consumed after all.
 *
 * A run also says when its segments were begun. Segments outside of that are not of the run,
 * whatever their number.
 *
 * Invariant: `consumedOf` tells a segment as consumed from its commit on, for ever: its id is in
 * `svc_wal_consumed`, or in a run.
 */

import { ordinalOfSegmentName, type SegmentOrdinal } from "../wal/layout.ts";
import {
  integerOfRow,
  sql,
  type SqlRow,
  type SqlValue,
  textOfRow,
  type Transaction,
} from "./sql_database.ts";
import type { SqlDialect } from "./sql_dialect.ts";

export const RUNS_TABLE = "svc_wal_consumed_runs";

/** The tables, equal in both databases. */
export const RUN_TABLES = `
CREATE TABLE IF NOT EXISTS ${RUNS_TABLE} (
  writer VARCHAR(16) NOT NULL,
  first_number BIGINT NOT NULL,
  last_number BIGINT NOT NULL,
  first_ms BIGINT NOT NULL,
  last_ms BIGINT NOT NULL,
  PRIMARY KEY (writer, first_number, last_number, first_ms, last_ms)
);
`;

/** Segments of one writer, numbered from first to last without a gap, begun between two times. */
export interface ConsumedRun {
  readonly writer: string;
  readonly firstNumber: number;
  readonly lastNumber: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

const NAMED = { value: "text", writer: "text", number: "integer", ms: "integer" } as const;
const RUN = {
  writer: "text",
  first_number: "integer",
  last_number: "integer",
  first_ms: "integer",
  last_ms: "integer",
} as const;

/**
 * A query whose column `segment_id` has those of the segments `$n` (`segmentRows`) that are
 * consumed.
 */
export function consumedAmong(
  dialect: SqlDialect,
  n: number,
  options: { readonly hasRuns: boolean } = { hasRuns: true },
): string {
  const inRun = `OR EXISTS (SELECT 1 FROM ${RUNS_TABLE} AS run WHERE run.writer = named.writer ` +
    "AND named.number BETWEEN run.first_number AND run.last_number " +
    "AND named.ms BETWEEN run.first_ms AND run.last_ms)";
  return `SELECT named.value AS segment_id FROM ${dialect.rows(n, "named", NAMED)} WHERE EXISTS ` +
    "(SELECT 1 FROM svc_wal_consumed AS kept WHERE kept.segment_id = named.value) " +
    (options.hasRuns ? inRun : "");
}

/** Value of a parameter of `consumedAmong`. */
export function segmentRows(segments: readonly string[]): string {
  return JSON.stringify(segments.map((name) => {
    const ordinal = ordinalOfSegmentName(name);
    return [name, ordinal?.writer ?? null, ordinal?.number ?? null, ordinal?.ms ?? null];
  }));
}

/**
 * Puts segments into runs, and forgets claims of them. Names that are no segment's are kept one by
 * one.
 */
export function* foldSegments(
  segments: readonly string[],
  dialect: SqlDialect,
): Transaction<void> {
  const ordinals = new Map<string, SegmentOrdinal>();
  const others: string[] = [];
  for (const name of segments) {
    const ordinal = ordinalOfSegmentName(name);
    if (ordinal === undefined) others.push(name);
    else ordinals.set(name, ordinal);
  }
  const { texts } = dialect;
  const lock = dialect.lock(RUNS_TABLE);
  if (lock !== undefined) yield sql(lock);
  const isAny = `segment_id IN (SELECT value FROM ${texts(1)})`;
  yield sql(`DELETE FROM svc_wal_claims WHERE ${isAny}`, [JSON.stringify(segments)]);
  yield sql(
    "INSERT INTO svc_wal_consumed (segment_id, table_uuid, snapshot_id) " +
      `SELECT value, '', 0 FROM ${texts(1)} WHERE true ON CONFLICT DO NOTHING`,
    [JSON.stringify(others)],
  );
  yield sql(`DELETE FROM svc_wal_consumed WHERE ${isAny}`, [JSON.stringify([...ordinals.keys()])]);
  yield* mergeRuns([...ordinals.values()], dialect);
}

function* mergeRuns(
  ordinals: readonly SegmentOrdinal[],
  dialect: SqlDialect,
): Transaction<void> {
  const spans = spansOf(ordinals);
  const near = dialect.rows(1, "near", { writer: "text", low: "integer", high: "integer" });
  const found = yield sql(
    `SELECT run.* FROM ${RUNS_TABLE} AS run JOIN ${near} ON run.writer = near.writer ` +
      "AND run.first_number <= near.high + 1 AND run.last_number >= near.low - 1",
    [JSON.stringify(spans)],
  );
  const { gone, made } = planRuns(found.map(runOf), ordinals);
  const rows = dialect.rows(1, "given", RUN);
  yield sql(
    `DELETE FROM ${RUNS_TABLE} WHERE EXISTS (SELECT 1 FROM ${rows} ` +
      `WHERE ${
        Object.keys(RUN).map((name) => `given.${name} = ${RUNS_TABLE}.${name}`).join(" AND ")
      })`,
    runValues(gone),
  );
  yield sql(
    `INSERT INTO ${RUNS_TABLE} (${Object.keys(RUN).join(", ")}) ` +
      `SELECT ${Object.keys(RUN).join(", ")} FROM ${rows} WHERE true ON CONFLICT DO NOTHING`,
    runValues(made),
  );
}

/**
 * Which runs go, and which come in their place, so that `ordinals` are in them. `runs`: those that
 * touch them.
 */
export function planRuns(
  runs: readonly ConsumedRun[],
  ordinals: readonly SegmentOrdinal[],
): { readonly gone: readonly ConsumedRun[]; readonly made: readonly ConsumedRun[] } {
  const all = [...runs];
  const single = new Set<string>();
  for (const { writer, number, ms } of ordinals) {
    const key = `${writer} ${number} ${ms}`;
    if (single.has(key) || runs.some((run) => holds(run, { writer, number, ms }))) continue;
    single.add(key);
    all.push({ writer, firstNumber: number, lastNumber: number, firstMs: ms, lastMs: ms });
  }
  const merged = joined(all.sort(inOrder));
  const before = new Set(runs);
  const after = new Set(merged);
  return {
    gone: runs.filter((run) => !after.has(run)),
    made: merged.filter((run) => !before.has(run)),
  };
}

/** Joins runs that follow each other without a gap. */
function joined(runs: readonly ConsumedRun[]): ConsumedRun[] {
  const done: ConsumedRun[] = [];
  for (const run of runs) {
    const last = done.at(-1);
    if (last?.writer !== run.writer || last.lastNumber + 1 !== run.firstNumber) {
      done.push(run);
      continue;
    }
    done[done.length - 1] = {
      ...last,
      lastNumber: run.lastNumber,
      firstMs: Math.min(last.firstMs, run.firstMs),
      lastMs: Math.max(last.lastMs, run.lastMs),
    };
  }
  return done;
}

/** Whether the run tells that segment as consumed. */
export function holds(run: ConsumedRun, { writer, number, ms }: SegmentOrdinal): boolean {
  return run.writer === writer && run.firstNumber <= number && number <= run.lastNumber &&
    run.firstMs <= ms && ms <= run.lastMs;
}

function inOrder(a: ConsumedRun, b: ConsumedRun): number {
  if (a.writer !== b.writer) return a.writer < b.writer ? -1 : 1;
  return a.firstNumber - b.firstNumber || a.firstMs - b.firstMs;
}

/** Smallest and largest number of each writer. */
function spansOf(ordinals: readonly SegmentOrdinal[]): [string, number, number][] {
  const spans = new Map<string, [string, number, number]>();
  for (const { writer, number } of ordinals) {
    const [, low, high] = spans.get(writer) ?? [writer, number, number];
    spans.set(writer, [writer, Math.min(low, number), Math.max(high, number)]);
  }
  return [...spans.values()];
}

function runOf(row: SqlRow): ConsumedRun {
  return {
    writer: textOfRow(row, "writer"),
    firstNumber: integerOfRow(row, "first_number"),
    lastNumber: integerOfRow(row, "last_number"),
    firstMs: integerOfRow(row, "first_ms"),
    lastMs: integerOfRow(row, "last_ms"),
  };
}

function runValues(runs: readonly ConsumedRun[]): SqlValue[] {
  return [JSON.stringify(
    runs.map(({ writer, ...run }) => [
      writer,
      ...[run.firstNumber, run.lastNumber, run.firstMs, run.lastMs],
    ]),
  )];
}
