/** What is asked of a data file's indexes for a predicate. */

import { namesTo, PATH_NAMES_MAX } from "../../schema/attribute_path.ts";
import type { Column } from "../../schema/schema.ts";
import type { RowQuery } from "../../derived/rows/row_query.ts";
import type { CompareLeaf, Predicate } from "./predicate.ts";

/** The query that holds for each row which meets the predicate. `all` asks nothing. */
export function rowQueryOf(predicate: Predicate<Column>): RowQuery {
  switch (predicate.kind) {
    case "and":
      return simplified("and", predicate.of.map(rowQueryOf));
    case "or":
      return simplified("or", predicate.of.map(rowQueryOf));
    case "compare":
      return equality(predicate);
    case "all":
    case "member":
    case "starts":
      return { kind: "all" };
    case "attribute":
      // The index of values looks into no more objects than these.
      if (namesTo(predicate.name).length > PATH_NAMES_MAX) return { kind: "all" };
      return { ...predicate, column: predicate.column.name };
    default:
      return { ...predicate, column: predicate.column.name };
  }
}

function equality({ column, operator, values }: CompareLeaf<Column>): RowQuery {
  const texts = values.filter((value) => typeof value === "string");
  return operator === "=" && texts.length === values.length
    ? { kind: "equals", column: column.name, values: texts }
    : { kind: "all" };
}

function simplified(kind: "and" | "or", of: readonly RowQuery[]): RowQuery {
  const known = of.filter((query) => query.kind !== "all");
  if (known.length === 0 || (kind === "or" && known.length < of.length)) return { kind: "all" };
  const [only] = known;
  return known.length === 1 && only !== undefined ? only : { kind, of: known };
}
