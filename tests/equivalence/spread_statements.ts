/**
 * Random statements over `events` and `hosts` that a fan-out cuts in two: from all forms that have
 * partial answers, and some that have none.
 */

import type { SeededRandom } from "../../shared/testing/seeded_random.ts";

/** A statement, and what its text leaves open. */
export interface RandomStatement {
  readonly sql: string;
  /**
   * Places in the answer of what rows are ordered by; none: all that shows. Absent: they have no
   * order.
   */
  readonly keys?: readonly number[];
  /**
   * The statement without LIMIT, where LIMIT chooses among rows that are equal in its order: any of
   * these are right.
   */
  readonly unlimited?: string;
}

interface Source {
  readonly from: string;
  /** Before the columns of `events`. */
  readonly dot: string;
  /** A WITH that `from` needs. */
  readonly before: string;
  /** Whether columns of `hosts` are there. */
  readonly isJoined: boolean;
}

const CONDITIONS = [
  "code > 3",
  "ok",
  "NOT ok OR code IS NULL",
  "value BETWEEN 1 AND 5",
  "host LIKE 'h%'",
  "host IS NULL",
  "raw LIKE '%7%'",
  "hits > 0 AND code IN (1, 2, 3, 5, 8)",
  "timestamp >= TIMESTAMPTZ '2026-09-21 01:00:00Z'",
  "id % 3 = 1",
  "false",
  "host IN (SELECT host FROM hosts WHERE team = 't1')",
  "length(raw) > (SELECT max(weight) FROM hosts)",
];

/** Groups with few values; `$` stands before columns. */
const GROUPS = [
  "$host",
  "$ok",
  "$code",
  "$code % 3",
  "upper($host)",
  "date_trunc('hour', $timestamp)",
  "$value > 2",
  "CASE WHEN $code > 6 THEN 'high' WHEN $code IS NULL THEN NULL ELSE 'low' END",
  "coalesce($host, 'none')",
  "$hits % 4",
  "length($raw)",
];

const AGGREGATES = [
  "count(*)",
  "count($host)",
  "count($code)",
  "sum($code)",
  "sum($hits)",
  "sum($value)",
  "sum($code * 1.25)",
  "sum($code::SMALLINT)",
  "sum(CASE WHEN $ok THEN 1 ELSE 0 END)",
  "min($raw)",
  "max($raw)",
  "min($value)",
  "max($timestamp)",
  "min($hits)",
  "max($code)",
  "avg($code)",
  "avg($hits)",
  "avg($value)",
  "avg($id * 1790000000000)",
  "avg($code::TINYINT)",
  "mean($value)",
  "bool_and($ok)",
  "bool_or($ok)",
  "bit_or($code)",
  "bit_and($id)",
  "bit_xor($id)",
  "count_if($ok)",
  "count_if($code > 5)",
  "product($value + 0.5e0)",
  "var_samp($value)",
  "var_pop($code)",
  "stddev($hits / 1e15)",
  "stddev_pop($value)",
  "sem($code)",
  "variance($code)",
  "any_value($host IS NULL OR true)",
  "any_value($raw ORDER BY $id)",
  "first($host ORDER BY $id)",
  "last($code ORDER BY $timestamp, $id)",
  "first($raw ORDER BY $code DESC NULLS LAST, $id DESC)",
  "arg_max($raw, $id)",
  "arg_min($host, $id)",
  "arg_max_null($host, $id)",
  "max_by($code, $timestamp)",
  "count(DISTINCT $host)",
  "count(DISTINCT $code)",
  "count(DISTINCT $raw)",
  "sum(DISTINCT $code)",
  "avg(DISTINCT $hits)",
  "min(DISTINCT $code)",
  "median(DISTINCT $value)",
  "approx_count_distinct($raw)",
  "approx_count_distinct($host)",
  "bool_or(DISTINCT $ok)",
  "fsum($value)",
  "max($value) - min($value)",
  "sum($hits) / count(*)",
  "coalesce(sum($code), -1) + 1",
  "round(avg($value), 2)",
  "count(*) * 100.0 / nullif(count($code), 0)",
  "max(upper($host)) || '!'",
  "CASE WHEN count(*) > 10 THEN 'many' ELSE min($raw) END",
  "list_transform([count(*), max($id)], lambda x: x + 1)",
];

/** Aggregates whose rows are shipped. */
const WHOLE_AGGREGATES = [
  "median($value)",
  "quantile_disc($code, 0.25)",
  "quantile_cont($value, [0.1, 0.9])",
  "string_agg($host, ',' ORDER BY $id)",
  "list($code ORDER BY $id)",
  "mode($code % 1)",
  "corr($code, $id)",
  "histogram($ok)",
  "avg($code::DECIMAL(20, 3))",
  "string_agg(DISTINCT $host, '|' ORDER BY $host)",
  "min($code, 2)",
];

const COLUMNS = [
  "$id",
  "$host",
  "$code",
  "$raw",
  "$ok",
  "$value",
  "$timestamp",
  "$hits",
  "upper($host)",
  "$code + $id",
  "$value * 2e0",
  "$code / 2",
  "length($raw) AS l",
  "$host AS raw",
  "$code AS n",
  "strftime($timestamp, '%H') AS h",
  "[$code, $id]",
  "{'a': $host, 'b': $code}",
];

/** Doubles whose last bits depend on the order of rows: by them, equal values come in any order. */
const INEXACT = /var|stddev|sem|product|corr/;

/** Rows that are equal in these are equal. */
const ALL_COLUMNS = ["$id", "$raw", "$code", "$host", "$value", "$hits", "$ok", "$timestamp"];

const HAVINGS = [
  "count(*) > 5",
  "sum($code) > 20 OR count(*) < 3",
  "max($id) % 2 = 0",
  "bool_or($ok)",
  "count(DISTINCT $code) > 2",
  "a1 IS NOT NULL",
  "avg($value) > 1",
];

/** Makes statements; one seed makes the same ones. */
export class SpreadStatements {
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  next(): RandomStatement {
    const forms = [
      () => this.#rows(),
      () => this.#rows(),
      () => this.#groups(),
      () => this.#groups(),
      () => this.#groups(),
      () => this.#around(),
      () => this.#distinct(),
      () => this.#union(),
      () => this.#windows(),
    ];
    return this.#one(forms)();
  }

  #one<T>(values: readonly T[]): T {
    const value = values[this.#random.below(values.length)];
    if (value === undefined) throw new Error("there is none to choose from");
    return value;
  }

  #some<T>(values: readonly T[], most: number): T[] {
    const count = 1 + this.#random.below(most);
    const left = [...values];
    return Array.from({ length: count }, () => left.splice(this.#random.below(left.length), 1))
      .flat();
  }

  #maybe(probability: number, text: () => string): string {
    return this.#random.chance(probability) ? text() : "";
  }

  #where(probability = 0.5): string {
    const all = () =>
      this.#some(CONDITIONS, 2).map((one) => `(${one})`).join(this.#one([" AND ", " OR "]));
    return this.#maybe(probability, () => ` WHERE ${all()}`);
  }

  #source(): Source {
    const plain = { before: "", dot: "", isJoined: false };
    return this.#one<() => Source>([
      () => ({ ...plain, from: "events" }),
      () => ({ ...plain, from: "events" }),
      () => ({ ...plain, from: "events e", dot: "e." }),
      () => ({ ...plain, from: `(SELECT * FROM events${this.#where()})` }),
      () => ({
        ...plain,
        from:
          `(SELECT id + 1 AS id, lower(host) AS host, code, hits, value, ok, raw, timestamp FROM events${this.#where()}) x`,
        dot: "x.",
      }),
      () => ({ ...plain, before: `WITH w AS (SELECT * FROM events${this.#where()}) `, from: "w" }),
      () => ({
        ...plain,
        before:
          `WITH v AS (SELECT * FROM events), w AS MATERIALIZED (SELECT * FROM v${this.#where()}) `,
        from: "w y",
        dot: "y.",
      }),
      () => ({ ...plain, from: "events JOIN hosts USING (host)", isJoined: true }),
      () => ({
        ...plain,
        from: "events e LEFT JOIN hosts h ON e.host = h.host",
        dot: "e.",
        isJoined: true,
      }),
      () => ({ ...plain, from: "events e SEMI JOIN hosts h ON e.host = h.host", dot: "e." }),
      () => ({
        ...plain,
        from: "hosts h RIGHT JOIN events e ON e.host = h.host",
        dot: "e.",
        isJoined: true,
      }),
      () => ({ ...plain, from: "events e, LATERAL (SELECT e.code + 1 AS more) l", dot: "e." }),
      () => ({
        ...plain,
        from:
          `(SELECT * FROM events${this.#where()} UNION ALL SELECT * FROM events${this.#where()})`,
      }),
    ])();
  }

  /** Fills in the names of a source; conditions are written without them. */
  #in(source: Source, text: string): string {
    return text.replaceAll("$", source.dot);
  }

  #conditionIn({ dot }: Source, where: string): string {
    if (dot === "") return where;
    return where.replaceAll(
      /(?<![.\w'])(code|ok|value|host|raw|hits|timestamp|id)\b(?! FROM hosts)(?!')/g,
      `${dot}$1`,
    )
      .replaceAll(`SELECT ${dot}host FROM`, "SELECT host FROM");
  }

  #rows(): RandomStatement {
    const source = this.#source();
    const columns = this.#random.chance(0.2) && !source.isJoined ? ["*"] : this.#some(COLUMNS, 5);
    const where = this.#conditionIn(source, this.#where());
    const list = columns.map((column) => this.#in(source, column)).join(", ");
    const sql = `${source.before}SELECT ${list} FROM ${source.from}${where}`;
    if (this.#random.chance(0.25)) {
      const limit = this.#limit();
      return limit === "" ? { sql } : { sql: sql + limit, unlimited: sql };
    }
    // `id` may come twice from a UNION ALL: then rows are equal in all that shows, or differ.
    const keys = this.#some(["$host", "$code", "$value", "length($raw)", "$ok", "$timestamp"], 2);
    const order = [...keys, ...ALL_COLUMNS]
      .map((key) => `${this.#in(source, key)}${this.#direction()}`).join(", ");
    return { sql: `${sql} ORDER BY ${order}${this.#limit()}`, keys: [] };
  }

  #direction(): string {
    return this.#one(["", "", " ASC", " DESC"]) +
      this.#one(["", "", " NULLS FIRST", " NULLS LAST"]);
  }

  #limit(): string {
    return this.#maybe(
      0.6,
      () =>
        ` LIMIT ${this.#random.below(30)}${
          this.#maybe(0.3, () => ` OFFSET ${this.#random.below(10)}`)
        }`,
    );
  }

  #groups(): RandomStatement {
    const source = this.#source();
    const groups = this.#random.chance(0.2)
      ? []
      : this.#some(source.isJoined ? [...GROUPS, "team", "weight"] : GROUPS, 3);
    const whole = this.#random.chance(0.1);
    const aggregates = this.#some(whole ? [...AGGREGATES, ...WHOLE_AGGREGATES] : AGGREGATES, 4);
    const filtered = aggregates.map((aggregate) =>
      /^\w+\((?:DISTINCT )?[^()]*\)$/.test(aggregate) && this.#random.chance(0.25)
        ? `${aggregate} FILTER (WHERE ${this.#one(["$ok", "$code > 4", "$host <> 'h1'", "false"])})`
        : aggregate
    );
    const items = [
      ...groups.map((group, i) => `${group} AS g${i + 1}`),
      ...filtered.map((aggregate, i) => `${aggregate} AS a${i + 1}`),
    ];
    const where = this.#conditionIn(source, this.#where(0.4));
    const by = this.#groupBy(groups);
    const having = this.#maybe(0.2, () => ` HAVING ${this.#one(HAVINGS)}`);
    const sql = source.before + this.#in(source, `SELECT ${items.join(", ")} FROM `) + source.from +
      where +
      this.#in(source, by + having);
    const exact = items.flatMap((item, i) => INEXACT.test(item) ? [] : [i]);
    if (exact.length === 0 || this.#random.chance(0.4)) return { sql };
    const keys = this.#some(exact, 2);
    const order = keys.map((key) => {
      const place = this.#one([
        String(key + 1),
        key < groups.length ? `g${key + 1}` : `a${key + 1 - groups.length}`,
      ]);
      return place + this.#direction();
    });
    const ordered = `${sql} ORDER BY ${order.join(", ")}`;
    const limit = this.#limit();
    return { sql: ordered + limit, keys, ...(limit === "" ? {} : { unlimited: ordered }) };
  }

  #groupBy(groups: readonly string[]): string {
    if (groups.length === 0) return "";
    const names = groups.map((group, i) => this.#one([group, `g${i + 1}`, String(i + 1)]));
    const list = names.join(", ");
    return ` GROUP BY ${
      this.#one([
        list,
        list,
        list,
        "ALL",
        `ROLLUP (${list})`,
        `CUBE (${list})`,
        `GROUPING SETS ((${list}), (${names[0]}), ())`.replace(
          groups.length === 1 ? /, \(.*?\)(?=, \(\))/ : /$^/,
          "",
        ),
      ])
    }`;
  }

  #distinct(): RandomStatement {
    const source = this.#source();
    const columns = this.#some(GROUPS, 2);
    const where = this.#conditionIn(source, this.#where());
    const list = columns.map((column, i) => `${this.#in(source, column)} AS d${i + 1}`).join(", ");
    if (this.#random.chance(0.4)) {
      const order = [...columns.map((_, i) => `d${i + 1}`), ...ALL_COLUMNS];
      const sql =
        `${source.before}SELECT DISTINCT ON (d1${columns.length > 1 ? ", d2" : ""}) ${list}, ` +
        this.#in(source, "$id AS i, $raw AS r FROM ") + source.from + where +
        ` ORDER BY ${order.map((key) => this.#in(source, key)).join(", ")}${this.#limit()}`;
      return { sql, keys: [] };
    }
    const sql = `${source.before}SELECT DISTINCT ${list} FROM ${source.from}${where}`;
    if (this.#random.chance(0.5)) return { sql };
    return {
      sql: `${sql} ORDER BY ${
        columns.map((_, i) => `d${i + 1}${this.#direction()}`).join(", ")
      }${this.#limit()}`,
      keys: [],
    };
  }

  /** A query with groups or first rows within another one. */
  #around(): RandomStatement {
    const where = this.#where();
    const aggregate = this.#one([
      "count(*)",
      "sum(code)",
      "count(DISTINCT raw)",
      "avg(value)",
      "max(id)",
    ]);
    const groups = `SELECT host, ${aggregate} AS n FROM events${where} GROUP BY host`;
    const first = `SELECT id, host, code FROM events${where} ORDER BY id DESC LIMIT 20`;
    return {
      sql: this.#one([
        `SELECT * FROM (${groups}) WHERE n > 3`,
        `SELECT max(n), count(*) FROM (${groups})`,
        `WITH a AS (${groups}), b AS (SELECT avg(n) AS m FROM a) SELECT host, n FROM a, b WHERE n >= m`,
        `WITH a AS (${groups}) SELECT x.host, y.n FROM a x JOIN a y USING (n)`,
        `SELECT code, count(*) FROM (${first}) GROUP BY code`,
        `SELECT (SELECT count(*) FROM events${where}) AS n`,
        `SELECT {'n': (SELECT max(id) FROM events${where})}`,
        `SELECT upper(host), n + 1 FROM (${groups}) q WHERE host IS NOT NULL`,
        `SELECT sum(n) OVER (ORDER BY host NULLS FIRST), host FROM (${groups})`,
        `WITH a AS (SELECT * FROM events${where}) SELECT x.id, y.code FROM a x JOIN a y ON x.id = y.id`,
        `SELECT ARRAY(SELECT DISTINCT code FROM events${where} ORDER BY code) AS codes`,
        `(${groups}) UNION ALL SELECT 'extra', 0`,
      ]),
    };
  }

  #union(): RandomStatement {
    const one = () =>
      `SELECT ${this.#one(["host", "raw", "upper(host)"])} AS t, ${
        this.#one(["code", "id", "NULL"])
      } AS u FROM events${this.#where()}`;
    const all = this.#one(["UNION ALL", "UNION ALL", "UNION", "UNION ALL BY NAME"]);
    const sql = `${one()} ${all} ${one()}${this.#maybe(0.2, () => ` ${all} ${one()}`)}`;
    if (this.#random.chance(0.5)) return { sql };
    return {
      sql: `${sql} ORDER BY t${this.#direction()}, u${this.#direction()}${this.#limit()}`,
      keys: [],
    };
  }

  #windows(): RandomStatement {
    const source = this.#source();
    const where = this.#conditionIn(source, this.#where());
    const window = this.#one([
      "row_number() OVER (PARTITION BY $host ORDER BY $id, $raw, $code)",
      "sum($code) OVER (PARTITION BY $ok)",
      "rank() OVER (ORDER BY $code NULLS FIRST)",
      "lag($code) OVER (ORDER BY $id, $code)",
      "count(*) OVER ()",
    ]);
    const list = this.#in(source, `$id, $code AS c, ${window} AS w`);
    return {
      sql: `${source.before}SELECT ${list} FROM ${source.from}${where}${
        this.#maybe(0.3, () => " QUALIFY w > 1")
      }`,
    };
  }
}
