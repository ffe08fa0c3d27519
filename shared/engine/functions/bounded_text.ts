/**
 * `repeat`, `lpad`, `rpad`, `replace`, `flatten` and the functions that map a list, with a bound on
 * what they make. While DuckDB makes a value, it neither counts it against its memory pool nor can
 * be interrupted: `repeat('x', 1000000000)` took 2 GB and 10 s past its deadline. The macros go
 * before DuckDB's own functions of the same names. `replace` is exchanged where it needs a bound
 * (`bounded_calls.ts`). The bound stands in the argument, so that it is checked before the text is
 * made.
 */

import { LIMIT_FAILURE } from "../duckdb/fault_error.ts";
import {
  LIST_FLATTENED_MAX,
  LIST_MAPPED_MAX,
  TEXT_MADE_MAX,
  TEXT_REPLACED_MAX,
} from "../limits.ts";

interface Bound {
  readonly name: string;
  /** SQL for the number of characters that it would make, or more. */
  readonly size: string;
  readonly max: number;
  /** The unit of `size`; characters when not said. */
  readonly unit?: string;
}

/** SQL for `argument`, which fails when the call would make too much. */
function bounded({ name, size, max, unit = "characters" }: Bound, argument: string): string {
  return `CASE WHEN ${size} > ${max} THEN bounded_fail('${name} would make more than ${max} ${unit}') ` +
    `ELSE ${argument} END`;
}

const REPEAT: Bound = {
  name: "repeat",
  size: "length(value)::HUGEINT * count::BIGINT",
  max: TEXT_MADE_MAX,
};

const REPLACE: Bound = {
  name: "replace",
  size: "length(value)::HUGEINT * greatest(length(target) - 16, 0)",
  max: TEXT_REPLACED_MAX,
};

const FLATTEN: Bound = {
  name: "flatten",
  size: "list_sum(system.main.list_transform(lists, lambda one: len(one)))",
  max: LIST_FLATTENED_MAX,
  unit: "elements",
};

function padSql(name: string): string {
  const argument = bounded({ name, size: "size::BIGINT", max: TEXT_MADE_MAX }, "size::INTEGER");
  return `CREATE MACRO ${name}(value, size, filler) AS ` +
    `system.main.${name}(value, ${argument}, filler)`;
}

/**
 * A call that fails with a message when it is evaluated, and is of any type. It is not `error`:
 * what calls that cannot be named by another column of its SELECT, and is not folded where it is
 * constant.
 */
export const BOUNDED_FAIL = "CREATE MACRO bounded_fail(message) AS " +
  `list_extract([NULL], ('${LIMIT_FAILURE}' || message)::INTEGER)`;

export const BOUNDED_TEXT: readonly string[] = [
  "CREATE MACRO repeat(value, count) AS " +
  `system.main.repeat(value, ${bounded(REPEAT, "count::BIGINT")})`,
  padSql("lpad"),
  padSql("rpad"),
  "CREATE MACRO replace_bounded(value, source, target) AS " +
  `system.main.replace(value, source, ${bounded(REPLACE, "target")})`,
  "CREATE MACRO bounded_replacement(value, target) AS " +
  bounded({ ...REPLACE, name: "regexp_replace" }, "target"),
  `CREATE MACRO flatten(lists) AS system.main.flatten(${bounded(FLATTEN, "lists")})`,
  ...["apply", "array_apply", "array_transform", "list_apply", "list_transform"].map((name) =>
    `CREATE MACRO ${name}(list, expression) AS ` +
    `system.main.list_transform(${
      bounded({ name, size: "len(list)", max: LIST_MAPPED_MAX, unit: "elements" }, "list")
    }, expression)`
  ),
];
