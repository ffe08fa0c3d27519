/** Rows of a statement that are written as JSON here, where they can be. */

import type { TextChunk } from "../duckdb/driver.ts";
import { FEW_ROWS_MAX, JSON_ROWS_FILES_MAX } from "../limits.ts";
import { type FilePart, type Plan, rowsOfParts } from "../plan/plan.ts";
import type { Prepared } from "../prepared.ts";
import type { RowShape } from "../types.ts";
import { jsonRows } from "./json_rows.ts";
import {
  areReadable,
  filesAtOnce,
  isWritable,
  type JsonRowsForm,
  jsonRowsForm,
} from "./json_rows_form.ts";

/**
 * Whether rows of a step are likely to be written here, before it is known how they are wanted.
 * Undefined: they are not.
 */
export function likelyJsonRows(prepared: Prepared, plan: Plan): "few" | "many" | undefined {
  const form = jsonRowsForm(prepared, "objects");
  const parts = form && wantedParts(plan, form);
  if (parts === undefined) return undefined;
  return rowsOfParts(parts) <= FEW_ROWS_MAX ? "few" : "many";
}

/**
 * At most `rowsMax` rows of a step, whose plan was brought unless it has few rows. Undefined:
 * DuckDB is to be asked, which also tells what is wrong with a file that cannot be read. Errors of
 * later rows: the store's, `damaged_file`.
 */
export async function jsonRowsOf(
  prepared: Prepared,
  { plan, shape, rowsMax, nowMs }: {
    readonly plan: Plan;
    readonly shape: RowShape;
    readonly rowsMax: number;
    readonly nowMs: () => number;
  },
): Promise<AsyncGenerator<TextChunk> | undefined> {
  const form = jsonRowsForm(prepared, shape);
  const parts = form && wantedParts(plan, form);
  if (form === undefined || parts === undefined) return undefined;
  const lease = prepared.data;
  try {
    if (!await areReadable(parts, form, lease)) return undefined;
    const all = jsonRows(form, { parts, lease, rowsMax, nowMs });
    const first = await all.next();
    return behind(first, all, () => lease.bring(plan));
  } catch {
    return undefined;
  }
}

/** Few rows were not brought: where their pages fail, `bring` tells and notes what is damaged. */
async function* behind(
  first: IteratorResult<TextChunk>,
  all: AsyncGenerator<TextChunk>,
  bring: () => Promise<unknown>,
): AsyncGenerator<TextChunk> {
  try {
    if (first.done === true) return;
    yield first.value;
    yield* all;
  } catch (error) {
    await bring();
    throw error;
  } finally {
    await all.return(undefined);
  }
}

/** The parts of a plan where all of them can be written. */
function wantedParts(
  { tables: [table] }: Plan,
  { isFiner }: JsonRowsForm,
): readonly FilePart[] | undefined {
  if (table === undefined) return undefined;
  const parts = table.parts.filter((part) => isWritable(part, table));
  if (parts.length < table.parts.length || isFiner && parts.length > 1) return undefined;
  return filesAtOnce(parts) > JSON_ROWS_FILES_MAX ? undefined : parts;
}
