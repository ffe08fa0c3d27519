/**
 * `exact_mean(total, n)`: what `avg` of whole numbers gives, from their sum and number, to the last
 * bit. It is `exact_average` for sums of any size and for many groups: the merge of a fan-out adds
 * up sums of shards (`../spread/README.md`). It takes 20 ms to bind, where `exact_average` takes 6,
 * so fast paths keep that one. It takes a tenth of the time for each group.
 *
 * DuckDB (1.5.5) makes a `long double` of the sum, divides it as one, and rounds the quotient to a
 * double's 53 bits. Where its processor is an x86, a `long double` has 64 bits. `AVERAGE_PROBE`
 * tells whether the processor is such a one.
 *
 * The macro takes the quotient of doubles, and on whole numbers what it is off. The steps through
 * 64 bits move a mean by less than 2^-62 of it. Where all numbers so near round to one double, that
 * is the mean. Else the mean is near the middle between two doubles. There the macro compares the
 * sum with that of the middle. It holds for up to 2^40 values.
 */

/** A power of two that makes whole numbers of means. None where the products would not fit. */
const QUICK_UNIT = `CREATE MACRO quick_unit(a) AS CASE
  WHEN a < 73786976294838206464::HUGEINT THEN 1152921504606846976::HUGEINT
  WHEN a < 79228162514264337593543950336::HUGEINT THEN 1073741824::HUGEINT
  WHEN a < 85070591730234615865843651857942052864::HUGEINT THEN 1::HUGEINT END`;

/** The quotient of doubles as a whole number. */
const WHOLE = `CREATE MACRO mean_whole(a, n) AS (a::DOUBLE / n::DOUBLE)::HUGEINT`;

/** The double that is nearest to the quotient moved by 2^-62 of it. `whole` is `mean_whole`. */
const LOW = `CREATE MACRO low_mean(a, n, whole) AS whole::DOUBLE
  + ((a - whole * n)::DOUBLE / n::DOUBLE - whole::DOUBLE * 2.168404344971009e-19::DOUBLE)`;
const HIGH = `CREATE MACRO high_mean(a, n, whole) AS whole::DOUBLE
  + ((a - whole * n)::DOUBLE / n::DOUBLE + whole::DOUBLE * 2.168404344971009e-19::DOUBLE)`;

/** The mean, unless it is near a middle. CASE alone, without AND, computes each part once. */
const QUICK = `CREATE MACRO quick_mean(a, n, unit) AS CASE
  WHEN low_mean(a * unit, n, mean_whole(a * unit, n))
    = high_mean(a * unit, n, mean_whole(a * unit, n))
  THEN high_mean(a * unit, n, mean_whole(a * unit, n)) / unit::DOUBLE END`;

/** By how many bits a sum exceeds 64. A double's logarithm may be one off. */
const EXCESS = `CREATE MACRO mean_excess(a) AS CASE WHEN a < 18446744073709551616::HUGEINT THEN 0
  ELSE floor(log2(a::DOUBLE))::INTEGER - 63
    - CASE WHEN log2(a::DOUBLE) >= 127 THEN 1
      WHEN a < (1::HUGEINT << floor(log2(a::DOUBLE))::INTEGER) THEN 1 ELSE 0 END END`;

/** A unit for sums of 64 bits at most that makes whole numbers of middles between means, too. */
const LONG_UNIT = `CREATE MACRO long_unit(a) AS CASE
  WHEN a < 67108864::HUGEINT THEN 1267650600228229401496703205376::HUGEINT
  WHEN a < 70368744177664::HUGEINT THEN 1208925819614629174706176::HUGEINT
  ELSE 1152921504606846976::HUGEINT END`;

/** The highest 64 bits of a sum, as a `long double` has them: half to even. */
const LONG = `CREATE MACRO long_bits(a, excess) AS (a >> excess) + CASE
  WHEN excess > 0 AND (a - ((a >> excess) << excess)) * 2 + ((a >> excess) & 1::HUGEINT)
      > (1::HUGEINT << excess)
    THEN 1::HUGEINT ELSE 0::HUGEINT END`;

/**
 * One of two doubles beside a middle, which the sum exceeds by `beyond`. A quotient whose 64 bits
 * are those of the middle is rounded to the even one.
 */
const CHOSEN = `CREATE MACRO chosen_mean(low, high, n, beyond) AS CASE
  WHEN low = high THEN low
  WHEN abs(beyond) * 4096::HUGEINT <= (high - low)::HUGEINT * n
    THEN CASE WHEN (low / (high - low))::BIGINT % 2 = 0 THEN low ELSE high END
  WHEN beyond > 0 THEN high ELSE low END`;

/**
 * Lists name what is used more than once: written out it would be a thousand calls, and bound for
 * seconds. They are DuckDB's own, because HAVING takes an alias only of what cannot fail
 * (`bounded_text.ts`).
 */
const CAREFUL = `CREATE MACRO careful_mean(total, number) AS system.main.list_transform(
  system.main.list_transform(
    system.main.list_transform(
      system.main.list_transform(
        system.main.list_transform([{'a': total, 'n': number::HUGEINT}],
          lambda x: {'a': x['a'], 'n': x['n'], 'e': mean_excess(x['a'])}),
        lambda x: {'a': long_bits(x['a'], x['e']), 'n': x['n'], 'e': x['e']}),
      lambda x: {'a': x['a'] * long_unit(x['a']), 'n': x['n'],
        'whole': mean_whole(x['a'] * long_unit(x['a']), x['n']),
        'times': pow(2::DOUBLE, x['e']) / long_unit(x['a'])::DOUBLE}),
    lambda x: {'a': x['a'], 'n': x['n'], 'times': x['times'],
      'low': low_mean(x['a'], x['n'], x['whole']), 'high': high_mean(x['a'], x['n'], x['whole'])}),
  lambda x: x['times'] * chosen_mean(x['low'], x['high'], x['n'],
    x['a'] - ((x['low'] / 2)::HUGEINT + (x['high'] / 2)::HUGEINT) * x['n']))[1]`;

/** One value, which many groups have, is rounded once. */
const SINGLE = `CREATE MACRO single_mean(a, n) AS
  CASE WHEN n = 1 AND a < 18446744073709551616::HUGEINT THEN a::DOUBLE END`;

/** DuckDB does not make the nearest double of a negative whole number beyond 2^53. */
const MEAN = `CREATE MACRO exact_mean(total, n) AS coalesce(
    quick_mean(abs(total::HUGEINT), n, quick_unit(abs(total::HUGEINT))),
    single_mean(abs(total::HUGEINT), n),
    CASE WHEN n > 0 THEN careful_mean(abs(total::HUGEINT), n) END)
  * sign(total)::DOUBLE`;

export const EXACT_MEAN: readonly string[] = [
  QUICK_UNIT,
  WHOLE,
  LOW,
  HIGH,
  QUICK,
  EXCESS,
  LONG_UNIT,
  LONG,
  CHOSEN,
  CAREFUL,
  SINGLE,
  MEAN,
];
