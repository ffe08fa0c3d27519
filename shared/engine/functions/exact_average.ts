/**
 * `exact_average(sum, values)`: what `avg` of whole numbers gives, from their sum and their number.
 * It is for statements that add up sums; callers' statements cannot name it.
 *
 * DuckDB divides 128-bit sums as C++'s `long double`, and then rounds to the 53 bits of a double.
 * Where its processor is an x86, a `long double` has 64 bits of mantissa. Rounding twice now and
 * then differs from rounding once, so the macro rounds twice as well, on whole numbers. A quotient
 * of some more bits is rounded to 64 bits and then to 53, each time half to even. It holds for sums
 * below 2^63 and up to 2^40 values. `AVERAGE_PROBE` tells whether the processor is such a one.
 */

/** Drops `bits` low bits of `q`, half to even; `rest` says that there was something below them. */
const ROUNDED = `CREATE MACRO rounded_bits(q, bits, rest) AS
  q - q % (1::HUGEINT << bits) + CASE
    WHEN q % (1::HUGEINT << bits) > (1::HUGEINT << (bits - 1))
      OR (q % (1::HUGEINT << bits) = (1::HUGEINT << (bits - 1))
        AND (rest OR (q >> bits) % 2 = 1))
    THEN 1::HUGEINT << bits ELSE 0::HUGEINT END`;

/** By how much the sum is shifted so that the quotient has 66 to 68 bits. */
const SHIFT = `CREATE MACRO average_shift(a, n) AS
  (66 - floor(log2(a::DOUBLE / n::DOUBLE)))::INTEGER`;

/** Bits of a quotient beyond 64. */
const EXTRA = `CREATE MACRO average_extra(q) AS
  CASE WHEN q >= (1::HUGEINT << 67) THEN 4 WHEN q >= (1::HUGEINT << 66) THEN 3 ELSE 2 END`;

/**
 * `x` stands for what is used more than once. HAVING reads `x.s` as a column of a table, hence
 * brackets. HAVING takes an alias only of what cannot fail, hence DuckDB's own `list_transform`
 * (`bounded_text.ts`).
 */
const QUOTIENT = `CREATE MACRO average_quotient(a, n) AS system.main.list_transform(
    [{'s': average_shift(a, n), 'a': a::HUGEINT, 'n': n::HUGEINT}],
    lambda x: {'s': x['s'], 'q': (x['a'] << x['s']) // x['n'], 'rest': (x['a'] << x['s']) % x['n'] <> 0})`;

const EXACT = `CREATE MACRO exact_average(total, n) AS CASE
  WHEN total IS NULL OR n IS NULL OR n = 0 THEN NULL
  WHEN total = 0 THEN 0::DOUBLE
  ELSE system.main.list_transform(
    system.main.list_transform(average_quotient(abs(total), n),
      lambda x: {'s': x['s'], 'extra': average_extra(x['q']), 'q': rounded_bits(x['q'], average_extra(x['q']), x['rest'])}),
    lambda x: rounded_bits(x['q'], x['extra'] + 11, false)::DOUBLE / pow(2::DOUBLE, x['s']))[1]
    * sign(total)::DOUBLE END`;

export const EXACT_AVERAGE: readonly string[] = [ROUNDED, SHIFT, EXTRA, QUOTIENT, EXACT];

/**
 * A quotient that rounding twice and rounding once make different, and its value where
 * `exact_average` holds.
 */
export const AVERAGE_PROBE = {
  sql: "SELECT avg(CASE WHEN i = 0 THEN 2473 ELSE 0 END)::VARCHAR FROM range(2051) AS rows(i)",
  expected: "1.205753291077523",
};
