/**
 * Statements of every shape that a fast path knows, and of some that it must refuse, from a seed.
 */

import type { SeededRandom } from "../../shared/testing/seeded_random.ts";

/** Unix nanoseconds around which rows lie. */
export interface TimeSpan {
  readonly firstNs: bigint;
  readonly lastNs: bigint;
  /** Times of rows: bounds near them cut through minutes that have some. */
  readonly instantsNs: readonly bigint[];
}

const STRINGS = ["name", "region", "level"] as const;
const NUMBERS = ["code", "hits", "took"] as const;
const GROUPS = ["name", "region", "level", "code", "hits", "ok", "value"] as const;
const BUCKETS = [
  "date_trunc('minute', timestamp)",
  "date_trunc('hour', timestamp)",
  "date_trunc('day', timestamp)",
  "time_bucket(INTERVAL '5 minutes', timestamp)",
  "time_bucket(INTERVAL 1 HOUR, timestamp)",
  "date_bin(INTERVAL 7 MINUTE, timestamp)",
  "date_bin(INTERVAL '1 day', timestamp)",
  "timestamp::DATE",
  "hour(timestamp)",
  "extract(dow FROM timestamp)",
  "date_trunc('week', timestamp)",
  "date_trunc('month', timestamp)",
  "time_bucket(INTERVAL '1 hour 30 minutes', timestamp)",
  "time_bucket(INTERVAL '1 week', timestamp)",
  "time_bucket(INTERVAL '1 month', timestamp)",
  "time_bucket(INTERVAL 5 MONTH, timestamp)",
  "date_bin(INTERVAL '1 quarter', timestamp)",
  "date_bin(INTERVAL 1 YEAR, timestamp)",
  "date_bin('5 minutes', timestamp)",
  "date_bin('1 month', timestamp)",
  "date_bin('7 minutes', timestamp, TIMESTAMP '2020-01-01 00:03:00')",
  "date_bin('5 months', timestamp, TIMESTAMP '2019-12-15 06:03:00')",
  "time_bucket(INTERVAL '1 day', timestamp, INTERVAL '6 hours')",
  "time_bucket('1 week', timestamp, TIMESTAMPTZ '2020-01-01 06:30:00Z')",
  "epoch_ms(date_bin(INTERVAL '120 seconds', timestamp))",
  // Finer than a minute: the path must not answer.
  "date_trunc('second', timestamp)",
  "epoch_ms(date_bin(INTERVAL '30 seconds', timestamp))",
  "time_bucket(INTERVAL '90 seconds', timestamp)",
  "date_bin('7 minutes', timestamp, TIMESTAMP '2020-01-01 00:03:20')",
  "time_bucket(INTERVAL '1 minute 30 seconds', timestamp)",
] as const;

/** Words that rows have, with what stands around them. */
const WORDS = [
  "match_terms(raw, 'login')",
  "match_phrase(raw, 'login failed')",
  "match_phrase(raw, 'Failed LOGIN')",
  "match_any(raw, 'failed')",
  "match_terms(raw, 'row')",
  "match_phrase(metrics.raw, 'user')",
  "match_terms(raw, 'été')",
  "match_terms(raw, '日')",
  "match_phrase(raw, '日本')",
  // Not of one word, or of one in few rows.
  "match_terms(raw, 'login failed')",
  "match_phrase(raw, 'login failed user')",
  "match_prefix(raw, 'log')",
  "match_terms(raw, '17')",
  "match_terms(raw, '')",
] as const;

const HAVINGS = [
  "count(*) > 1",
  "count(*) >= 3e0",
  "max(took) > 500",
  "avg(took) > 400",
  "min(name) < 'm'",
] as const;

/** The most frequent values of one column: columns with many values are looked at in part. */
function makeTopStatement(random: SeededRandom): string {
  const pick = <T>(values: readonly T[]) => values[Math.floor(random.float() * values.length)] as T;
  const column = pick(GROUPS);
  const more = pick(["", "", ", min(took) AS least", ", count(DISTINCT region)"]);
  const groupBy = pick([column, "1", "ALL"]);
  const where = pick(["", "", "", ` WHERE ${column} IS NOT NULL`]);
  const having = pick(["", "", "", " HAVING count(*) < 9"]);
  const order = pick(["count(*)", "2", "n", "count()"]);
  const offset = pick(["", "", " OFFSET 1"]);
  return `SELECT ${column}, count(*) AS n${more} FROM metrics${where} GROUP BY ${groupBy}${having} ` +
    `ORDER BY ${order} DESC, 1 LIMIT ${pick([1, 2, 3, 5])}${offset}`;
}

/**
 * Rows with words by minute and level, as the page Logs asks for them; or by another column, as
 * dashboards do.
 */
export function makeWordStatement(random: SeededRandom, { instantsNs }: TimeSpan): string {
  const pick = <T>(values: readonly T[]) => values[Math.floor(random.float() * values.length)] as T;
  const other = pick([undefined, "name", "hits", "code", "region", "ok"]);
  const level = other ??
    pick(["level", "level", "level", "coalesce(level, name)", "coalesce(level, raw)"]);
  const bin = pick([
    "",
    ...BUCKETS.slice(0, 4),
    "epoch_ms(date_bin(INTERVAL '60 seconds', timestamp))",
  ]);
  // Files may lack one of two columns.
  const second = bin === "" ? pick(["", "", "region", "hits", "ok"]) : "";
  const items = [bin, pick([level, level, ""]), second].filter((item) => item !== "");
  const from = pick(instantsNs) ?? 0n;
  const conditions = [
    pick(WORDS.slice(0, 6)),
    pick(["", "", ...(other === undefined ? LEVEL_CONDITIONS : conditionsOf(other))]),
    pick(["", `timestamp >= make_timestamptz(${from / 1_000n})`]),
    pick(["", `timestamp < make_timestamptz(${from / 1_000n + 240_000_000n})`]),
  ].filter((condition) => condition !== "");
  const group = items.length === 0 ? "" : " GROUP BY ALL";
  return `SELECT ${[...items, "count(*)"].join(", ")} FROM metrics ` +
    `WHERE ${conditions.join(" AND ")}${group}`;
}

const conditionsOf = (column: string) => [
  `${column} IS NOT NULL`,
  `(${column} = ${column === "name" ? "'cpu'" : "'1'"}) IS NOT TRUE`,
];

const LEVEL_CONDITIONS = [
  "level = 'INFO'",
  "level IN ('INFO', 'ERROR')",
  "(level IN ('INFO') OR (level IS NULL AND name IN ('cpu', 'mem')))",
  "(level = 'ERROR') IS NOT TRUE",
] as const;

export function makeStatement(random: SeededRandom, span: TimeSpan): string {
  const below = (bound: number) => Math.floor(random.float() * bound);
  const pick = <T>(values: readonly T[]) => values[below(values.length)] as T;
  const chance = (percent: number) => below(100) < percent;
  if (chance(15)) return makeTopStatement(random);

  // Words of the text are counted alone or by minute.
  const words = chance(20) ? pick(WORDS) : undefined;
  const groupCount = words === undefined ? pick([0, 0, 1, 1, 1, 1, 2, 2]) : 0;
  const groups: string[] = [];
  while (groups.length < groupCount) {
    const group = chance(35) ? pick(BUCKETS) : chance(80) ? pick(GROUPS) : pick([
      "upper(name)",
      "coalesce(region, '-')",
      "coalesce(level, name)",
      "coalesce(level, TRY_CAST(raw AS VARCHAR))",
      "code + 1",
      "code * 0.1e0",
      "CASE WHEN ok THEN name END",
      "took",
    ]);
    if (!groups.includes(group)) groups.push(group);
  }
  if (words !== undefined) {
    if (chance(40)) groups.push(pick(BUCKETS.slice(0, 12)));
    if (chance(40)) {
      groups.push(pick(["level", "level", "level", "name", "coalesce(level, region)"]));
    }
    if (chance(20)) groups.push(words);
  }

  const literal = (column: string): string => {
    if (column === "name") return pick(["'cpu'", "'mem'", "''", "'nobody'", "'日本'"]);
    if (column === "level") return pick(["'INFO'", "'ERROR'", "'nothing'"]);
    if (column === "region") return pick(["'eu'", "'us'", "''", "'nowhere'"]);
    if (column === "code") return pick(["200", "404", "-1", "7"]);
    if (column === "hits") return pick(["0", "1", "42", "-7", "9007199254740993"]);
    if (column === "took") return String(below(1000));
    if (column === "ok") return pick(["true", "false"]);
    return pick(["0.5", "'NaN'::DOUBLE", "1e300"]);
  };

  /** Mostly of what it is grouped by, so that there are not too many columns for a summary. */
  const predicate = (): string => {
    if (words !== undefined && chance(85)) {
      return pick([words, words, `NOT ${words}`, `coalesce(${words}, true)`, `${words} IS NULL`]);
    }
    const own = groups.filter((group) => (GROUPS as readonly string[]).includes(group));
    const column = own.length > 0 && chance(80) ? pick(own) : pick(GROUPS);
    const numeric = ["code", "hits"].includes(column) ? column : pick(["code", "hits"]);
    if (chance(75)) {
      return pick([
        `${column} = ${literal(column)}`,
        `${column} IN (${literal(column)}, ${literal(column)})`,
        `${column} IS NOT NULL`,
        `${column} <> ${literal(column)}`,
      ]);
    }
    return pick([
      () => `${column} = ${literal(column)}`,
      () => `${column} <> ${literal(column)}`,
      () => `${column} IN (${literal(column)}, ${literal(column)})`,
      () => `${column} NOT IN (${literal(column)})`,
      () => `${column} IS NULL`,
      () => `${column} IS NOT NULL`,
      () => `${numeric} BETWEEN ${literal(numeric)} AND ${literal(numeric)}`,
      () => `${numeric} >= ${literal(numeric)}`,
      () => `NOT (${numeric} < ${literal(numeric)})`,
      () => `${numeric} > ${pick(["1e2", "-1e0", "9.007199254740993e15", "1e22"])}`,
      () => `(${column} = ${literal(column)} OR ${column} IS NULL)`,
      () => `(level = 'INFO' OR (level IS NULL AND name = ${literal("name")}))`,
      () => "ok",
      () => "name LIKE '%e%'",
      () => "upper(name) = 'CPU'",
      () => "length(region) > 1",
      // Not of the weighted row.
      () => "raw LIKE '%1%'",
      () => "kv_extract(raw, 'x') IS NULL",
      () => "random() >= 0",
    ])();
  };

  const instant = (): bigint => {
    if (span.instantsNs.length > 0 && chance(75)) {
      return pick(span.instantsNs) + BigInt(below(21) - 10) * 1_000_000_000n;
    }
    const width = Number((span.lastNs - span.firstNs) / 1_000n) + 120_000_000;
    return span.firstNs - 60_000_000_000n + BigInt(below(width)) * 1_000n;
  };
  const timeText = (ns: bigint) => `make_timestamptz(${ns / 1_000n})`;
  const timeBound = (): string => {
    const at = pick([
      instant(),
      instant() / 60_000_000_000n * 60_000_000_000n,
      instant() / 86_400_000_000_000n * 86_400_000_000_000n,
      span.firstNs,
      span.lastNs,
    ]);
    const iso = `'${new Date(Number(at / 1_000_000n)).toISOString()}'`;
    return pick([
      () => `timestamp >= ${timeText(at)}`,
      () => `timestamp > ${timeText(at)}`,
      () => `timestamp < ${timeText(at)}`,
      () => `timestamp <= ${timeText(at)}`,
      () => `timestamp >= ${iso}`,
      () => `TIMESTAMP ${iso} > timestamp`,
      () =>
        `timestamp BETWEEN ${timeText(at)} AND ${
          timeText(at + BigInt(below(7200)) * 1_000_000_000n)
        }`,
      () => `timestamp_ns >= ${at + BigInt(below(2000))}`,
      () => `timestamp_ns < ${at + BigInt(below(2000))}`,
      () => "timestamp < now() + INTERVAL 400 YEAR",
      () => `timestamp >= now() - INTERVAL 400 YEAR`,
    ])();
  };

  const aggregate = (): string => {
    const number = pick(NUMBERS);
    if (words !== undefined && chance(70)) {
      return pick(["count(*)", "count(*)", `count(${words})`, `bool_or(${words})`]) +
        (chance(40) ? ` FILTER (WHERE ${predicate()})` : "");
    }
    const column = groups.length > 0 && chance(60) ? pick(groups) : pick(GROUPS);
    const filter = chance(15) ? ` FILTER (WHERE ${predicate()})` : "";
    const call = pick([
      () => "count(*)",
      () => "count(*)",
      () => "count(*)",
      () => "count()",
      () => `count(${column})`,
      () => `count(${number})`,
      () => `count(DISTINCT ${column})`,
      () => `min(${number})`,
      () => `max(${number})`,
      () => `sum(${number})`,
      () => `avg(${number})`,
      () => "sum(value)",
      () => "avg(value)",
      () => "min(value)",
      () => "max(value)",
      () => "sum(even)",
      () => "avg(even)",
      () => "min(timestamp)",
      () => "max(timestamp)",
      () => "max(timestamp_ns)",
      () => `min(${pick(STRINGS)})`,
      () => "bool_or(ok)",
      () => `approx_count_distinct(${column})`,
      () => "count(timestamp)",
      ...(chance(85) ? [] : [
        // Not of the weighted row.
        () => "median(took)",
        () => "string_agg(name, ',' ORDER BY name, timestamp_ns, took)",
        () => "count(DISTINCT raw)",
        () => "sum(DISTINCT code)",
        () => "stddev_pop(code)",
      ]),
    ])();
    return call + filter;
  };
  const aggregates = Array.from({ length: pick([0, 1, 1, 1, 2, 3]) }, aggregate);
  if (groups.length === 0 && aggregates.length === 0) aggregates.push("count(*)");

  const wheres: string[] = [];
  if (chance(55)) wheres.push(timeBound());
  if (chance(30)) wheres.push(timeBound());
  if (chance(words === undefined ? 35 : 70)) wheres.push(predicate());
  if (chance(10)) wheres.push(predicate());
  const where = wheres.length > 0 ? ` WHERE ${wheres.join(" AND ")}` : "";

  const table = chance(15)
    ? "svc.metrics"
    : chance(15) && words?.includes("metrics.") !== true
    ? "metrics m"
    : "metrics";
  const names = aggregates.map((_, at) => `a${at}`);
  const items = [
    ...groups.map((group, at) => chance(50) ? `${group} AS g${at}` : group),
    ...aggregates.map((call, at) => chance(70) ? `${call} AS ${names[at]}` : call),
  ];
  const groupBy = groups.length === 0
    ? ""
    : aggregates.length === 0 && chance(40)
    ? "DISTINCT"
    : pick([
      ` GROUP BY ${groups.join(", ")}`,
      ` GROUP BY ${groups.map((_, at) => at + 1).join(", ")}`,
      " GROUP BY ALL",
    ]);
  const having = groupBy !== "DISTINCT" && groupBy !== "" && chance(25)
    ? ` HAVING ${pick(HAVINGS)}`
    : "";
  // Every column of the groups, so that the order is one whatever ties.
  const positions = items.map((_, at) => at + 1);
  const order = chance(60)
    ? ` ORDER BY ${
      positions.toReversed().map((at) => `${at}${pick(["", " DESC", " NULLS LAST"])}`).join(", ")
    }`
    : "";
  const limit = order !== "" && chance(40) ? ` LIMIT ${1 + below(5)}` : "";
  const distinct = groupBy === "DISTINCT" ? "DISTINCT " : "";
  return `SELECT ${distinct}${items.join(", ")} FROM ${table}${where}` +
    `${distinct === "" ? groupBy : ""}${having}${order}${limit}`;
}
