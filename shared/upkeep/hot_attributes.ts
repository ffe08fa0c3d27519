/** Which attributes are hot: read by many statements, on several days. Pure. */

import type { AttributeReads } from "../engine/plan/promoted_attributes.ts";
import { unaskedColumn } from "../schema/promoted.ts";
import type { StatementCounts } from "./audited_statements.ts";

/** A day's statements that read an attribute of a table of a tenant. */
export interface AttributeDemand {
  readonly tenant: string;
  /** Lower-cased. */
  readonly table: string;
  readonly attribute: string;
  readonly statements: number;
}

export interface HotAttribute extends AttributeDemand {
  readonly days: number;
}

/** Days that count, today included: a week has what is looked at each Monday. */
export const HOT_WINDOW_DAYS = 7;
/**
 * So many of these days must have statements that read it: what one incident asks for in an
 * afternoon is over the day after.
 */
const DAYS_MIN = 3;
/** A panel that is refreshed each ten minutes of three working days has as many. */
const STATEMENTS_MIN = 100;
/**
 * Attributes of a day that are counted: what generates names by the thousand does not fill the
 * memory.
 */
const COUNTED_MAX = 10_000;

/** `reads`: what each statement reads, in the order of `statements`. */
export function demandOf(
  tenant: string,
  statements: StatementCounts,
  reads: readonly (AttributeReads | undefined)[],
): AttributeDemand[] {
  const demand = new Map<string, AttributeDemand>();
  for (const [at, count] of [...statements.values()].entries()) {
    const { table, attributes } = reads[at] ?? { table: "", attributes: [] };
    for (const attribute of attributes) {
      if (unaskedColumn(attribute) === undefined) continue;
      const key = keyOf({ tenant, table, attribute });
      const before = demand.get(key)?.statements ?? 0;
      if (before === 0 && demand.size === COUNTED_MAX) continue;
      demand.set(key, { tenant, table, attribute, statements: before + count });
    }
  }
  return [...demand.values()];
}

/** The most wanted first. */
export function hotAttributes(days: readonly (readonly AttributeDemand[])[]): HotAttribute[] {
  const hot = new Map<string, HotAttribute>();
  for (const demand of days.flat()) {
    const before = hot.get(keyOf(demand)) ?? { statements: 0, days: 0 };
    hot.set(keyOf(demand), {
      ...demand,
      statements: before.statements + demand.statements,
      days: before.days + 1,
    });
  }
  return [...hot.values()]
    .filter(({ statements, days }) => statements >= STATEMENTS_MIN && days >= DAYS_MIN)
    .sort((a, b) => b.statements - a.statements || (keyOf(a) < keyOf(b) ? -1 : 1));
}

function keyOf({ tenant, table, attribute }: Omit<AttributeDemand, "statements">): string {
  return JSON.stringify([tenant, table, attribute]);
}
