/**
 * `exact_mean(total, n)`: what `avg` of 64-bit integers gives, from their sum and their number, to
 * the last bit. It is `exact_average` for sums of any size and for many groups. The merge of a
 * fan-out adds up sums of shards (`../spread/README.md`). It holds where `exact_average` holds.
 *
 * Rounding twice differs from rounding once only near the middle between two doubles. So nearly all
 * quotients are rounded once, on whole numbers: below 2^52 in units of a double's last bit, and far
 * beyond it as they are. For the others DuckDB first makes a
 * `long double` of the sum (1.5.5). Beyond 64 bits that is the upper half times 2^64 - 1, plus the
 * lower half, both rounded. So does the macro. It takes 15 ms to bind, where `exact_average` takes
 * 6, so fast paths keep that one.
 */

/** A double with 53 bits before the point is a whole number times this power of two, negated. */
const SCALE = `CREATE MACRO mean_scale(a, n) AS
  52 - floor(log2(a::DOUBLE / n::DOUBLE))::INTEGER`;

/** The quotient of doubles as that whole number. It may be off by some. */
const WHOLE = `CREATE MACRO mean_whole(a, n) AS
  (a::DOUBLE / n::DOUBLE * pow(2::DOUBLE, mean_scale(a, n)))::BIGINT`;

/** By how much it is off. */
const OFF = `CREATE MACRO mean_off(a, n) AS
  ((a << mean_scale(a, n)) - mean_whole(a, n)::HUGEINT * n)::DOUBLE / n::DOUBLE`;

const QUICK = `CREATE MACRO quick_mean(a, n) AS
  (mean_whole(a, n) + round(mean_off(a, n))::BIGINT)::DOUBLE / pow(2::DOUBLE, mean_scale(a, n))`;

/** Near powers of two the number of bits may be another. */
const IS_QUICK = `CREATE MACRO is_quick_mean(a, n) AS
  a < 18446744073709551616::HUGEINT
    AND a::DOUBLE / n::DOUBLE < 4503599627370496::DOUBLE
    AND mean_whole(a, n) BETWEEN 4503599627370500 AND 9007199254740988
    AND abs(mean_off(a, n) % 1) NOT BETWEEN 0.498::DOUBLE AND 0.502::DOUBLE`;

/**
 * Below 2^63 DuckDB's `long double` is less than four off the whole quotient. All steps to it
 * together are off by 3 * 2^-63 of it. Where all numbers so near are one double, so is the mean.
 */
const IS_LARGE = `CREATE MACRO is_large_mean(a, n) AS
  a // n < 9223372036854775808::HUGEINT
    AND (a // n - 4::HUGEINT)::DOUBLE = (a // n + 4::HUGEINT)::DOUBLE`;

/** By how many bits a sum exceeds 64. A double's logarithm may be one off. */
const EXCESS = `CREATE MACRO mean_excess(a) AS CASE WHEN a < 18446744073709551616::HUGEINT THEN 0
  ELSE floor(log2(a::DOUBLE))::INTEGER - 63
    - CASE WHEN a < (1::HUGEINT << floor(log2(a::DOUBLE))::INTEGER) THEN 1 ELSE 0 END END`;

/** A whole number as a `long double` has it: its highest 64 bits, half to even. */
const LONG = `CREATE MACRO long_rounded(a) AS CASE WHEN a < 18446744073709551616::HUGEINT THEN a
  ELSE rounded_bits(a, mean_excess(a), false) END`;

/**
 * The absolute value of a sum as a `long double` has it, as a list of one. Lists name what is used
 * more than once: written out it would be a thousand calls, and bound for seconds.
 */
const LONG_SUMS = `CREATE MACRO long_sums(total) AS system.main.list_transform(
  system.main.list_transform(
    system.main.list_transform([total],
      lambda t: {
        'upper': CASE WHEN t >= 0 THEN (t // 18446744073709551616::HUGEINT) * 18446744073709551615::HUGEINT
          WHEN t >= -18446744073709551616::HUGEINT THEN -t
          ELSE ((-t - 1) // 18446744073709551616::HUGEINT + 1) * 18446744073709551615::HUGEINT END,
        'lower': CASE WHEN t >= 0 THEN t % 18446744073709551616::HUGEINT
          WHEN t >= -18446744073709551616::HUGEINT THEN 0::HUGEINT
          ELSE (-t - 1) % 18446744073709551616::HUGEINT - 18446744073709551615::HUGEINT END}),
    lambda x: {'upper': long_rounded(x['upper']), 'lower': x['lower']}),
  lambda x: long_rounded(x['upper'] + x['lower']))`;

const LISTED = `CREATE MACRO listed_mean(total, n) AS system.main.list_transform(
    system.main.list_transform(long_sums(total), lambda a: {'a': a >> mean_excess(a), 'e': mean_excess(a), 'n': n}),
    lambda x: exact_average(x['a'], x['n']) * pow(2::DOUBLE, x['e']))[1]`;

const MEAN = `CREATE MACRO exact_mean(total, n) AS CASE
  WHEN total IS NULL OR n IS NULL OR n = 0 THEN NULL
  WHEN total = 0 THEN 0::DOUBLE
  WHEN is_quick_mean(abs(total::HUGEINT), n) THEN quick_mean(abs(total::HUGEINT), n) * sign(total)::DOUBLE
  WHEN is_large_mean(abs(total::HUGEINT), n) THEN (abs(total::HUGEINT) // n)::DOUBLE * sign(total)::DOUBLE
  ELSE listed_mean(total::HUGEINT, n) * sign(total)::DOUBLE END`;

/** They call `EXACT_AVERAGE`, which is made first. */
export const EXACT_MEAN: readonly string[] = [
  SCALE,
  WHOLE,
  OFF,
  QUICK,
  IS_QUICK,
  IS_LARGE,
  EXCESS,
  LONG,
  LONG_SUMS,
  LISTED,
  MEAN,
];
