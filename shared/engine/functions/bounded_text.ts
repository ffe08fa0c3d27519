/**
 * `repeat`, `lpad` and `rpad` with a bound on what they make. The SQL engine counts a value while it is made
 * neither against its memory pool nor can it be interrupted there: `repeat('x', 1000000000)` took 2 GB and
 * 10 s past its deadline. The macros go before the engine's own functions of the same names; the bound stands
 * in the argument, so that it is checked before the text is made.
 */

import { TEXT_MADE_MAX } from "../limits.ts";

function bounded(name: string, size: string, argument: string): string {
  return `CASE WHEN ${size} > ${TEXT_MADE_MAX} ` +
    `THEN error('${name} would make more than ${TEXT_MADE_MAX} characters') ELSE ${argument} END`;
}

export const BOUNDED_TEXT: readonly string[] = [
  `CREATE MACRO repeat(value, count) AS system.main.repeat(value, ${
    bounded("repeat", "length(value)::HUGEINT * count::BIGINT", "count::BIGINT")
  })`,
  ...["lpad", "rpad"].map((name) =>
    `CREATE MACRO ${name}(value, size, filler) AS system.main.${name}(value, ${
      bounded(name, "size::BIGINT", "size::INTEGER")
    }, filler)`
  ),
];
