/**
 * `repeat`, `lpad`, `rpad` and `replace` with a bound on what they make. The SQL engine counts a value while it is made
 * neither against its memory pool nor can it be interrupted there: `repeat('x', 1000000000)` took 2 GB and
 * 10 s past its deadline. The macros go before the engine's own functions of the same names; the bound stands
 * in the argument, so that it is checked before the text is made.
 */

import { TEXT_MADE_MAX, TEXT_REPLACED_MAX } from "../limits.ts";

interface Bound {
  readonly name: string;
  /** SQL for the characters it would make, or more. */
  readonly size: string;
  readonly max: number;
}

/** SQL for `argument`, which fails when the call would make too much. */
function bounded({ name, size, max }: Bound, argument: string): string {
  return `CASE WHEN ${size} > ${max} THEN error('${name} would make more than ${max} characters') ` +
    `ELSE ${argument} END`;
}

const REPEAT: Bound = {
  name: "repeat",
  size: "length(value)::HUGEINT * count::BIGINT",
  max: TEXT_MADE_MAX,
};

const REPLACE: Bound = {
  name: "replace",
  size: "length(value)::HUGEINT * length(target)",
  max: TEXT_REPLACED_MAX,
};

function padSql(name: string): string {
  const argument = bounded({ name, size: "size::BIGINT", max: TEXT_MADE_MAX }, "size::INTEGER");
  return `CREATE MACRO ${name}(value, size, filler) AS ` +
    `system.main.${name}(value, ${argument}, filler)`;
}

export const BOUNDED_TEXT: readonly string[] = [
  "CREATE MACRO repeat(value, count) AS " +
  `system.main.repeat(value, ${bounded(REPEAT, "count::BIGINT")})`,
  padSql("lpad"),
  padSql("rpad"),
  "CREATE MACRO replace(value, source, target) AS " +
  `system.main.replace(value, source, ${bounded(REPLACE, "target")})`,
];
