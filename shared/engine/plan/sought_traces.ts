/** The traces that a statement looks for, by which frames of the WAL are left out. */

import { ATTRIBUTES } from "../../schema/promoted.ts";
import type { Column } from "../../schema/schema.ts";
import { type TraceWords, wordsOfTrace } from "../../wal/trace_filter.ts";
import type { Predicate } from "../pruning/predicate.ts";

/** The column of spans, and the attribute of logs. */
const TRACE_ID = "trace_id";

/**
 * The traces of which each row is that meets the predicate, in frames with `columns` that say which
 * traces they hold. Undefined: any row may. What is no id is in no such frame.
 */
export function soughtTraces(
  predicate: Predicate<Column>,
  columns: readonly Column[],
): readonly TraceWords[] | undefined {
  // Spans have a column of that name, and may have an attribute that says something else. Names are
  // those of the frame's columns, which the table may call otherwise.
  const own = columns.find(({ name }) => name === TRACE_ID);
  const attributes = columns.find(({ name }) => name === ATTRIBUTES);
  switch (predicate.kind) {
    case "and":
      return predicate.of.map((one) => soughtTraces(one, columns)).find((one) => one !== undefined);
    case "or": {
      const all = predicate.of.map((one) => soughtTraces(one, columns));
      return all.includes(undefined) ? undefined : all.flatMap((one) => one ?? []);
    }
    case "attribute": {
      const { column, name, values } = predicate;
      const isOfLogs = own === undefined && column.id === attributes?.id;
      return isOfLogs && name === TRACE_ID ? wordsOf(values) : undefined;
    }
    case "compare": {
      const { column, operator, values } = predicate;
      const isOfSpans = own?.id === column.id && own.type === "string";
      return isOfSpans && operator === "=" ? wordsOf(values) : undefined;
    }
    default:
      return undefined;
  }
}

function wordsOf(values: readonly unknown[]): readonly TraceWords[] {
  return values.flatMap((value) => wordsOfTrace(String(value)) ?? []);
}
