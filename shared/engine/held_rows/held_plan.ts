/**
 * A plan whose parts are read from rows in memory as far as those are at hand, and the others as
 * they are.
 */

import type { TimeRange } from "../../iceberg/types.ts";
import type { Plan, ScanPart, TablePlan } from "../plan/plan.ts";
import type { HeldLease, WantedBlock } from "./held_rows.ts";

/** Rows of a block. A block begins at a multiple of it. */
export const BLOCK_ROWS = 4_096;
/** Blocks of one statement. A statement that reads more has none in memory. */
export const BLOCKS_PER_PLAN_MAX = 16;

export interface HeldPlan {
  /** What is left to bring. */
  readonly rest: Plan;
  /** What is held of each table of the plan. */
  readonly held: readonly (readonly ScanPart[])[];
}

export interface HeldSource {
  readonly lease: HeldLease;
  /** Whether the blocks that are not in memory are worth keeping there. */
  readonly wants: boolean;
}

export function heldPlan(plan: Plan, source: HeldSource): HeldPlan {
  const parts = plan.tables.flatMap((table) =>
    table.parts.filter(({ origin }) => origin === "file")
  );
  const blocks = parts.reduce((sum, part) => sum + blocksOf(part), 0);
  if (blocks > BLOCKS_PER_PLAN_MAX) return { rest: plan, held: [] };
  const exchanged = plan.tables.map((table) => exchangedParts(table, source));
  return {
    rest: {
      ...plan,
      tables: plan.tables.map((table, at) => ({ ...table, parts: exchanged[at]?.rest ?? [] })),
    },
    held: exchanged.map(({ held }) => held),
  };
}

/** The plan to scan. `brought` is what became of the rest. */
export function withHeld(brought: Plan, { held }: Pick<HeldPlan, "held">): Plan {
  return {
    ...brought,
    tables: brought.tables.map((table, at) => {
      const own = held[at] ?? [];
      if (own.length === 0) return table;
      return { ...table, parts: [...table.parts, ...own] };
    }),
  };
}

/**
 * Whether all that a plan reads are held rows nearest to an end of time, each of them in the
 * statement's time range. Then its scan emits just these rows, and an answer is all that is made of
 * them.
 */
export function isNearestHeld({ tables }: Plan): boolean {
  return tables.length > 0 &&
    tables.every(({ ordered, range, parts }) =>
      ordered && parts.length > 0 &&
      parts.every((part) =>
        part.origin === "file" && part.source.kind === "held" && isInside(part, range)
      )
    );
}

function isInside({ range, times }: ScanPart, { minNs, maxNs }: TimeRange): boolean {
  if (minNs === undefined && maxNs === undefined) return true;
  // A scan may give a few rows of a whole file: it leaves out what cannot beat the rows it has.
  if (range === undefined) return false;
  return (minNs === undefined ||
    times.timestampNsMin !== undefined && times.timestampNsMin >= minNs) &&
    (maxNs === undefined || times.timestampNsMax !== undefined && times.timestampNsMax <= maxNs);
}

function exchangedParts(
  table: TablePlan,
  { lease, wants }: HeldSource,
): { readonly rest: readonly ScanPart[]; readonly held: readonly ScanPart[] } {
  const { ordered, projected: columns, parts } = table;
  if (!ordered || columns.length === 0) return { rest: parts, held: [] };
  const rest: ScanPart[] = [];
  const held: ScanPart[] = [];
  for (const part of parts) {
    // Rows that an index chose are few, and of many blocks.
    if (part.origin !== "file" || part.rowNumbers !== undefined) {
      rest.push(part);
      continue;
    }
    const { file } = part;
    const blocks = lease.take(
      blocksIn(part).map((rows): WantedBlock => ({ file, rows, columns })),
      { wants },
    );
    if (blocks === undefined) rest.push(part);
    else held.push({ ...part, source: { kind: "held", blocks } });
  }
  return { rest, held };
}

/** The blocks that a part touches, in order. */
function blocksIn(part: ScanPart): { readonly first: number; readonly end: number }[] {
  const { first } = part.range ?? { first: 0 };
  const start = first - first % BLOCK_ROWS;
  return Array.from({ length: blocksOf(part) }, (_, block) => ({
    first: start + block * BLOCK_ROWS,
    end: Math.min(part.rows, start + (block + 1) * BLOCK_ROWS),
  }));
}

function blocksOf({ rows, range = { first: 0, end: rows } }: ScanPart): number {
  return Math.ceil(range.end / BLOCK_ROWS) - Math.floor(range.first / BLOCK_ROWS);
}
