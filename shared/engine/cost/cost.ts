/**
 * Estimates what a statement costs before it runs (docs/api/query.md#cost). It knows the plan, and
 * what the statement does with the rows.
 */

import type { Column } from "../../schema/schema.ts";
import { lostWarning } from "../plan/lost_rows.ts";
import {
  countFiles,
  partBytes,
  partRows,
  type Plan,
  type ScanPart,
  type TablePlan,
} from "../plan/plan.ts";
import type { GeneratedRows } from "./generated_rows.ts";
import type { JoinedRows } from "./joined_rows.ts";
import { CHEAP_SECS_MAX } from "../limits.ts";
import type { PlainWork } from "./plain_work.ts";
import type { ComplexityClass, Cost } from "../types.ts";

/**
 * Rates of the machine this was measured on (2 cores, warm files). LIKE over 2 M log rows read 60
 * MB in 0.11 s. A JSON attribute grouped over 2 M rows took 0.23 s. The rates are rounded down, so
 * that estimates err on the slow side.
 */
const BYTES_PER_SEC = 250_000_000;
const ROWS_PER_SEC = 8_000_000;
/**
 * Rates of plain work (`plain_work.ts`), fitted to half of the processor time of 10 M rows in 20
 * files. Groups by one tag took 34 ms, by two 116, by three 168. One value of a tag took 26 ms, one
 * of two values 103. A sum of 41 MB of numbers took 86 ms, by a tag 120.
 */
const PLAIN_BYTES_PER_SEC = 500_000_000;
const PLAIN_VALUES_PER_SEC = 200_000_000;
/** Seconds to open a data file. */
const FILE_SECS = 0.0001;
/**
 * Compressed bytes that a value takes at most in a column of few values. They are some 256 values
 * if all are as frequent.
 */
const REPEATED_BYTES_MAX = 1;
/** Pairs of rows that a join looks at in a second. */
const PAIRS_PER_SEC = 200_000_000;
/** Seconds for what makes rows that cannot be counted before: it may take no time, or all of it. */
const UNKNOWN_SECS = 1;
/** Seconds to parse, plan and start a statement. */
const BASE_SECS = 0.01;

/**
 * What a price depends on beside the plan: the rows that the statement makes itself, and what it
 * does with the rows that it reads.
 */
export interface StatementWork {
  readonly generated: GeneratedRows;
  readonly joined: JoinedRows;
  /** Undefined: the statement may do anything with a row. */
  readonly plain: PlainWork | undefined;
}

/**
 * Prices a plan and what is done with its rows. Bytes are what the wanted columns take in the
 * files. A table that the statement reads twice counts twice. Pure.
 */
export function costOf(
  plan: Plan,
  { generated, joined, plain }: StatementWork = UNKNOWN_WORK,
): Cost {
  let files = 0;
  let considered = 0;
  let bytes = 0;
  let rows = generated.rows + joined.certain;
  let secs = rows / ROWS_PER_SEC;
  let exact = generated.unknown.length === 0 && joined.possible === joined.certain;
  for (const table of plan.tables) {
    considered += table.considered;
    if (lackingOf(table).length > 0) exact = false;
    const { parts, projected, scans } = table;
    files += countFiles(parts.filter((part) => part.origin === "file"));
    for (const part of parts) {
      bytes += scans * partBytes(part, projected);
      rows += scans * partRows(part);
      secs += scans * partSecs(part, projected, plain);
      // A share of a file is scaled, and a file without recorded sizes is taken whole.
      if (part.range !== undefined || part.columnSizes.size === 0) exact = false;
    }
  }
  const complexity = complexityOf(bytes, rows);
  return {
    files_to_scan: files,
    files_considered: considered,
    estimated_bytes_scanned: bytes,
    estimated_rows_processed: rows,
    estimated_runtime_seconds: round(
      BASE_SECS + secs +
        (joined.possible - joined.certain) / PAIRS_PER_SEC +
        (generated.unknown.length > 0 ? UNKNOWN_SECS : 0),
    ),
    complexity_class: complexity,
    exact,
    warnings: [
      ...plan.tables.flatMap(lackingOf),
      ...warningsOf(plan, complexity),
      ...generated.unknown,
    ],
  };
}

/** Returns the estimated milliseconds of scanning so many bytes and rows. */
export function scanMs(scan: Scan): number {
  return 1_000 * scanSecs(scan);
}

interface Scan {
  readonly bytes: number;
  readonly rows: number;
}

function scanSecs({ bytes, rows }: Scan): number {
  return bytes / BYTES_PER_SEC + rows / ROWS_PER_SEC;
}

/**
 * Whether a statement is expensive: priced at more than `CHEAP_SECS_MAX`. It is likely to keep all
 * cores busy for so long that callers of cheap statements would notice. So it waits for a scheduler
 * slot among the expensive ones.
 */
export function isDear({ estimated_runtime_seconds }: Cost): boolean {
  return estimated_runtime_seconds > CHEAP_SECS_MAX;
}

const UNKNOWN_WORK: StatementWork = {
  generated: { rows: 0, unknown: [] },
  joined: { certain: 0, possible: 0 },
  plain: undefined,
};

/**
 * Returns the seconds for a part. Plain work is never priced higher than any other work on its
 * rows.
 */
function partSecs(
  part: ScanPart,
  projected: readonly Column[],
  plain: PlainWork | undefined,
): number {
  const [bytes, rows] = [partBytes(part, projected), partRows(part)];
  const secs = scanSecs({ bytes, rows });
  if (plain === undefined || !projected.every((column) => isQuick(part, column, plain))) {
    return secs;
  }
  const values = rows * projected.length;
  return Math.min(secs, FILE_SECS + bytes / PLAIN_BYTES_PER_SEC + values / PLAIN_VALUES_PER_SEC);
}

/**
 * Whether plain work goes through a column as it is stored: numbers, and texts that repeat. Groups
 * must be few. So a column that tells groups apart is neither a time nor a text that each row has
 * of its own.
 */
function isQuick(
  { rows, columnSizes }: ScanPart,
  { id, name, type }: Column,
  { grouped }: PlainWork,
): boolean {
  const bytes = columnSizes.size === 0 ? Infinity : columnSizes.get(id) ?? 0;
  const isRepeated = bytes <= rows * REPEATED_BYTES_MAX;
  if (!grouped.has(name.toLowerCase())) return isRepeated || type !== "string";
  return isRepeated && type !== "timestamptz" && name !== "timestamp_ns";
}

/**
 * Returns the class of a statement by its estimated bytes and rows (docs/api/query.md#cost). Bounds
 * are inclusive, and both must hold.
 */
export function complexityOf(bytes: number, rows: number): ComplexityClass {
  if (bytes <= 100e6 && rows <= 1e6) return "small";
  if (bytes <= 10e9 && rows <= 100e6) return "medium";
  if (bytes <= 100e9 && rows <= 1e9) return "large";
  return "huge";
}

/** What the answer lacks of a table. */
function lackingOf({ name, lacking = [], lost }: TablePlan): readonly string[] {
  return lost === undefined ? lacking : [...lacking, lostWarning(name, lost)];
}

function warningsOf(plan: Plan, complexity: ComplexityClass): string[] {
  if (complexity === "small") return [];
  return plan.tables
    .filter(({ range, ordered, considered }) =>
      considered > 0 && !ordered && range.minNs === undefined && range.maxNs === undefined
    )
    .map(({ name }) => `${name}: no bound on timestamp, so every data file is scanned`);
}

function round(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
