/**
 * What a weighted statement may call (README.md). The lists are closed, so that the path steps
 * aside for what a later version of DuckDB brings and for what nobody has thought about.
 */

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/**
 * Functions of values alone: for equal values they give equal results, however often they are
 * called.
 */
export const VALUE_FUNCTIONS = words(`
  + - * / // % || ~~ !~~ ~~* !~~* ~~~ abs ceil ceiling coalesce concat concat_ws contains ends_with epoch epoch_ms
  epoch_ns epoch_us floor greatest ifnull isfinite isinf isnan lcase least left length like_escape ilike_escape
  not_like_escape not_ilike_escape lower ltrim nullif nvl prefix regexp_extract regexp_matches replace right round rtrim
  sign starts_with strlen substr substring suffix trim trunc ucase upper
`);

/** Operators whose value follows from their operands' values alone. None of them fails. */
export const VALUE_OPERATORS: ReadonlySet<string> = new Set([
  "COMPARE_IN",
  "COMPARE_NOT_IN",
  "OPERATOR_COALESCE",
  "OPERATOR_IS_NOT_NULL",
  "OPERATOR_IS_NULL",
  "OPERATOR_NOT",
]);

/**
 * Functions of a time for which all instants of one minute, counted in UTC, give the same value.
 * The first argument of some says which part of the time.
 */
export const MINUTE_FUNCTIONS = words(`
  century dayname dayofmonth dayofweek dayofyear day decade hour isodow isoyear last_day minute month monthname quarter
  week weekday weekofyear year yearweek
`);

/** Units of `date_trunc` and `date_part` that are no finer than a minute. */
export const MINUTE_UNITS = words(`
  minute minutes min mins m hour hours hr hrs h day days d week weeks w month months mon mons quarter quarters year years yr
  yrs y decade decades century centuries millennium millennia dow dayofweek isodow weekday doy dayofyear isoyear yearweek
`);

/** Aggregates that ask which values there are, and not how many rows have them. */
export const SET_AGGREGATES = words("min max bool_and bool_or approx_count_distinct");
