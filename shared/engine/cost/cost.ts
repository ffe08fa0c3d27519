/**
 * The preflight estimate (docs/api/query.md#cost), from the plan alone.
 */

import type { Column } from "../../schema/schema.ts";
import { countFiles, partBytes, partRows, type Plan, type ScanPart } from "../plan/plan.ts";
import type { GeneratedRows } from "./generated_rows.ts";
import type { JoinedRows } from "./joined_rows.ts";
import { CHEAP_SECS_MAX } from "../limits.ts";
import type { PlainWork } from "./plain_work.ts";
import type { ComplexityClass, Cost } from "../types.ts";

/**
 * Rates of the machine this was measured on (2 cores, warm files): LIKE over 2 M log rows read 60
 * MB in 0.11 s, a JSON attribute grouped over 2 M rows took 0.23 s. Rounded down, so that estimates
 * err on the slow side.
 */
const BYTES_PER_SEC = 250_000_000;
const ROWS_PER_SEC = 8_000_000;
/**
 * The same of plain work (`plain_work.ts`), fitted to half of the processor time of 10 M rows in 20
 * files: grouped by one tag 34 ms, by two 116, by three 168; one value of a tag 26 ms, one of two
 * values 103; a sum of 41 MB of numbers 86 ms, by a tag 120.
 */
const PLAIN_BYTES_PER_SEC = 500_000_000;
const PLAIN_VALUES_PER_SEC = 200_000_000;
/** Opening a data file. */
const FILE_SECS = 0.0001;
/** Compressed bytes a value of a column whose values are few, some 256 if all are as frequent. */
const REPEATED_BYTES_MAX = 1;
/** Pairs of rows that a join looks at. */
const PAIRS_PER_SEC = 200_000_000;
/** For what makes rows that cannot be counted before: it may take no time, or all of it. */
const UNKNOWN_SECS = 1;
/** Parsing, planning and starting. */
const BASE_SECS = 0.01;

/** Beside the plan: what the statement makes itself, and what it does with what it reads. */
export interface StatementWork {
  readonly generated: GeneratedRows;
  readonly joined: JoinedRows;
  /** Undefined: anything. */
  readonly plain: PlainWork | undefined;
}

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
    warnings: [...warningsOf(plan, complexity), ...generated.unknown],
  };
}

/** Estimated milliseconds of scanning so much. */
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
 * Whether a statement is likely to keep all cores busy for so long that those who want a short one
 * would notice: then it waits for its turn among the others of its kind.
 */
export function isDear({ estimated_runtime_seconds }: Cost): boolean {
  return estimated_runtime_seconds > CHEAP_SECS_MAX;
}

const UNKNOWN_WORK: StatementWork = {
  generated: { rows: 0, unknown: [] },
  joined: { certain: 0, possible: 0 },
  plain: undefined,
};

/** Seconds for a part: never more than if anything were done with its rows. */
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
 * Whether plain work on a column goes through it as it is stored: numbers, and texts that repeat.
 * Groups must be few: those by a time or a text of its own for each row are not.
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

export function complexityOf(bytes: number, rows: number): ComplexityClass {
  if (bytes <= 100e6 && rows <= 1e6) return "small";
  if (bytes <= 10e9 && rows <= 100e6) return "medium";
  if (bytes <= 100e9 && rows <= 1e9) return "large";
  return "huge";
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
