/**
 * DuckDB's functions of instants (TIMESTAMP WITH TIME ZONE) without its calendar of time zones. All
 * connections are in UTC, where an instant and a TIMESTAMP have the same parts. The calendar takes
 * 5 to 400 times as long for them (0.1 to 8 µs a value). `utc_calls.ts` writes these macros instead
 * of the functions.
 *
 * Within years 1 to 9999 both give the same values (`utc_times_test.ts` compares them). What is
 * outside, with infinities, goes to the function itself: it counts years before Christ in another
 * way, and its range has other ends.
 *
 * `date_diff` and `date_sub` must not be asked about far instants, nor by ISO year or era. The
 * calendar fails there as a bug would, and the whole database is lost with it.
 */

const FIRST = `'0001-01-01 00:00:00+00'::TIMESTAMPTZ`;
const LAST = `'9999-12-31 00:00:00+00'::TIMESTAMPTZ`;

/**
 * Units of `date_part` whose value is the same. `epoch` is not among them: it is rounded otherwise.
 */
export const UTC_PARTS: ReadonlySet<string> = new Set([
  ...["century", "day", "decade", "dow", "doy", "hour", "isodow", "isoyear", "microsecond"],
  ...["millennium", "millisecond", "minute", "month", "quarter", "second", "week", "year"],
  "yearweek",
]);

/**
 * Places of `strftime` that write the same. `%Z` is not among them: it is another name of the zone.
 */
export const UTC_FORMAT = /^(?:[^%]|%-?[aAbBcdfgGHIjmMpSuUVwWxXyY%])*$/;

interface Call {
  readonly name: string;
  readonly parameters: readonly string[];
  /** The arguments that are instants. */
  readonly times: readonly string[];
  /** SQL of the call of the function itself. */
  readonly own: string;
  /** SQL of the call on times without a zone. */
  readonly plain: string;
}

const plain = (time: string) => `make_timestamp(epoch_us(${time}))`;
const zoned = (time: string) => `make_timestamptz(epoch_us(${time}))`;
const isNear = (time: string) => `${time} BETWEEN ${FIRST} AND ${LAST}`;

function utcMacro({ name, parameters, times, own, plain }: Call): string {
  const near = times.map(isNear).join(" AND ");
  return `CREATE MACRO ${name}(${parameters.join(", ")}) AS ` +
    `CASE WHEN ${near} THEN ${plain} ELSE ${own} END`;
}

/** `utc_<name>`. What the function gives is an instant, too, or a value of another type. */
function simple(
  name: string,
  parameters: readonly string[],
  { gives, times = ["t"] }: { readonly gives: "instant" | "value"; readonly times?: string[] },
): string {
  const call = (argument: (time: string) => string) => {
    const values = parameters.map((one) => times.includes(one) ? argument(one) : one);
    return `system.main.${name}(${values.join(", ")})`;
  };
  const value = call(plain);
  return utcMacro({
    name: `utc_${name}`,
    parameters,
    times,
    own: call((time) => time),
    plain: gives === "instant" ? zoned(value) : value,
  });
}

function ofInterval(name: string, sign: string): string {
  return utcMacro({
    name,
    parameters: ["t", "i"],
    times: ["t"],
    own: `t ${sign} i`,
    plain: zoned(`${plain("t")} ${sign} i`),
  });
}

/**
 * A function of two forms: with an origin, which is an instant or a time that is cast to one, and
 * without.
 */
function ofBuckets(name: string, bucket: (time: string, origin: string) => string): string {
  const form = (parameters: string, origin: string, plainOrigin: string) =>
    `(${parameters}) AS CASE WHEN ${isNear("t")} THEN ${zoned(bucket(plain("t"), plainOrigin))} ` +
    `ELSE ${bucket("t", origin)} END`;
  return `CREATE MACRO ${name}${form("stride, t", "", "")}, ` +
    form("stride, t, origin", ", origin", `, ${plain("origin::TIMESTAMPTZ")}`);
}

/**
 * A function of differences. It asks the calendar only about instants within 100,000 years, and for
 * `date_diff` about none that are near. The condition stands in the arguments, since constants are
 * put in before it is known which branch is taken.
 */
function ofDifferences(name: "date_diff" | "date_sub"): string {
  const call = (t: string, u: string) => `system.main.${name}(part, ${t}, ${u})`;
  const asked = (time: string) =>
    `CASE WHEN ${time} BETWEEN '100000-01-01 (BC) 00:00:00+00'::TIMESTAMPTZ AND ` +
    `'100000-01-01 00:00:00+00'::TIMESTAMPTZ THEN ${time} END`;
  const unzoned = call(plain("t"), plain("u"));
  const other = `coalesce(${call(asked("t"), asked("u"))}, ${unzoned})`;
  // `date_sub` counts whole months and hours in another way.
  const value = name === "date_sub"
    ? other
    : `CASE WHEN ${isNear("t")} AND ${isNear("u")} THEN ${unzoned} ELSE ${other} END`;
  return `CREATE MACRO utc_${name}(part, t, u) AS ${value}`;
}

export const UTC_TIMES: readonly string[] = [
  simple("date_trunc", ["part", "t"], { gives: "instant" }),
  simple("date_part", ["part", "t"], { gives: "value" }),
  simple("last_day", ["t"], { gives: "value" }),
  simple("dayname", ["t"], { gives: "value" }),
  simple("monthname", ["t"], { gives: "value" }),
  simple("strftime", ["t", "format"], { gives: "value" }),
  simple("age", ["t", "u"], { gives: "value", times: ["t", "u"] }),
  utcMacro({
    name: "utc_minus",
    parameters: ["t", "u"],
    times: ["t", "u"],
    own: "t - u",
    plain: `${plain("t")} - ${plain("u")}`,
  }),
  ofInterval("utc_add", "+"),
  ofInterval("utc_subtract", "-"),
  utcMacro({
    name: "utc_plain",
    parameters: ["t"],
    times: ["t"],
    own: "t::TIMESTAMP",
    plain: plain("t"),
  }),
  ofBuckets("utc_time_bucket", (time, origin) => `time_bucket(stride, ${time}${origin})`),
  ofBuckets(
    "utc_date_bin",
    (time, origin) => `date_bin(stride, ${time}${origin})`,
  ),
  ofDifferences("date_diff"),
  ofDifferences("date_sub"),
];
