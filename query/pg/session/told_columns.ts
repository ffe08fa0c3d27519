/** Columns of an answer as a client is told of them. */

import type { ResultColumn } from "../../../shared/engine/types.ts";
import { COLUMNS_MAX } from "../limits.ts";
import type { PgPlan } from "../pg_plan.ts";
import { pgError } from "../sqlstate.ts";
import { columnTypeOf, type TypeContext } from "../types/column_type.ts";
import { type Format, TEXT_FORMAT } from "../types/formats.ts";
import { sizeOfType } from "../types/oids.ts";
import type { ToldColumn } from "../wire/message_writer.ts";
import type { EngineAnswer } from "./engine_answer.ts";
import type { Prepared } from "./prepared_statements.ts";

type RowsPlan = Extract<PgPlan, { readonly kind: "rows" }>;

/** `described`: what the client was told before, which stays unless there are other columns. */
export function toldColumns(
  context: TypeContext,
  columns: readonly ResultColumn[],
  formats: readonly Format[],
  described?: readonly ResultColumn[],
): ToldColumn[] {
  checkColumns(columns.length);
  checkFormats(formats, columns.length);
  const before = described?.length === columns.length ? described : undefined;
  return columns.map(({ name, type }, at) => {
    const own = columnTypeOf(type, context);
    const { oid } = columnTypeOf(before?.[at]?.type ?? type, context);
    const told = oid === own.oid ? own : { ...own, oid, size: sizeOfType(oid), typmod: -1 };
    return { name, type: told, format: formatAt(formats, at) };
  });
}

export function columnsAtHand({ columns }: RowsPlan, formats: readonly Format[]): ToldColumn[] {
  checkFormats(formats, columns.length);
  return columns.map(({ name, oid, typmod = -1 }, at) => ({
    name,
    type: { oid, size: sizeOfType(oid), typmod, layout: { kind: "texts" } },
    format: formatAt(formats, at),
  }));
}

/**
 * Its client reads rows as the statement was described. Message and routine are PostgreSQL's:
 * drivers know by them that the statement is to be prepared again.
 */
export function refuseOtherColumns({ columns }: Prepared, answer: EngineAnswer): void {
  if (columns === undefined || columns.length === answer.columns.length) return;
  throw pgError("0A000", "cached plan must not change result type", {
    hint: "A table has other columns than when the statement was prepared: prepare it again.",
    routine: "RevalidateCachedQuery",
  });
}

/** A message could not count more, and a client would read it wrongly. */
function checkColumns(columns: number): void {
  if (columns <= COLUMNS_MAX) return;
  throw pgError("54011", `Cannot answer with ${columns} columns: at most ${COLUMNS_MAX} are told`, {
    hint: "Name the columns that are needed, or ask over HTTP.",
  });
}

function checkFormats(formats: readonly Format[], columns: number): void {
  if (formats.length <= 1 || formats.length === columns) return;
  throw pgError(
    "08P01",
    `Cannot send ${columns} columns in the formats of ${formats.length}`,
  );
}

function formatAt(formats: readonly Format[], at: number): Format {
  return (formats.length === 1 ? formats[0] : formats[at]) ?? TEXT_FORMAT;
}
