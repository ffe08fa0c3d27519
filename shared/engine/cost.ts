/** The preflight estimate of SPEC.md 2.5, from the plan alone. Classes and their bounds: SHAPES.md "Numbers". */

import { countFiles, partBytes, partRows, type Plan } from "./plan.ts";
import type { GeneratedRows } from "./generated_rows.ts";
import type { JoinedRows } from "./joined_rows.ts";
import { CHEAP_SECS_MAX } from "./limits.ts";
import type { ComplexityClass, Cost } from "./types.ts";

/**
 * Rates of the machine this was measured on (2 cores, warm files): LIKE over 2 M log rows read 60 MB in
 * 0.11 s, a JSON attribute grouped over 2 M rows took 0.23 s. Rounded down, so that estimates err on the slow side.
 */
const BYTES_PER_SEC = 250_000_000;
const ROWS_PER_SEC = 8_000_000;
/** Pairs of rows that a join looks at. */
const PAIRS_PER_SEC = 200_000_000;
/** For what makes rows that cannot be counted before: it may take no time, or all of it. */
const UNKNOWN_SECS = 1;
/** Parsing, planning and starting. */
const BASE_SECS = 0.01;

/** Beside the plan: what the statement makes itself. */
export interface MadeRows {
  readonly generated: GeneratedRows;
  readonly joined: JoinedRows;
}

export function costOf(plan: Plan, { generated, joined }: MadeRows = NOTHING_MADE): Cost {
  let files = 0;
  let considered = 0;
  let bytes = 0;
  let rows = generated.rows + joined.certain;
  let exact = generated.unknown.length === 0 && joined.possible === joined.certain;
  for (const table of plan.tables) {
    considered += table.considered;
    files += countFiles(table.parts.filter((part) => part.origin === "file"));
    for (const part of table.parts) {
      bytes += partBytes(part, table.projected);
      rows += partRows(part);
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
      BASE_SECS + bytes / BYTES_PER_SEC + rows / ROWS_PER_SEC +
        (joined.possible - joined.certain) / PAIRS_PER_SEC +
        (generated.unknown.length > 0 ? UNKNOWN_SECS : 0),
    ),
    complexity_class: complexity,
    exact,
    warnings: [...warningsOf(plan, complexity), ...generated.unknown],
  };
}

/** Estimated milliseconds of scanning so much. */
export function scanMs(scan: { readonly bytes: number; readonly rows: number }): number {
  return 1_000 * (scan.bytes / BYTES_PER_SEC + scan.rows / ROWS_PER_SEC);
}

/**
 * Whether a statement is likely to keep all cores busy for so long that those who want a short one would notice: then it
 * waits for its turn among the others of its kind.
 */
export function isDear({ estimated_runtime_seconds }: Cost): boolean {
  return estimated_runtime_seconds > CHEAP_SECS_MAX;
}

const NOTHING_MADE: MadeRows = {
  generated: { rows: 0, unknown: [] },
  joined: { certain: 0, possible: 0 },
};

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
