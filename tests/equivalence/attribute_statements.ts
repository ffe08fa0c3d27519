/** Random statements that name attributes in all the ways that there are. */

import { isNested, namesTo } from "../../shared/schema/attribute_path.ts";
import type { SeededRandom } from "../../shared/testing/seeded_random.ts";

/** Names of attributes that statements ask for; rows have others besides. */
export const ATTRIBUTE_NAMES: readonly string[] = [
  "severity_text",
  "status",
  "user.id",
  "duration_ms",
  "flag",
  "nested",
  "trace_id",
  'q"uo.te',
  "schlüssel",
  "name7",
  "nowhere",
  "$.http.status",
  "$.http.user.ms",
  "$.http.user.id",
  "$.nested.a",
];

/** A random statement. */
export interface AttributeStatement {
  readonly sql: string;
  /** Whether rows come in the statement's own order. */
  readonly isOrdered: boolean;
}

/** Writes random statements. */
export class AttributeStatements {
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  next(): AttributeStatement {
    const shape = this.#pick(SHAPES);
    const sql = shape.replaceAll(
      /<(\w+)(?: (\w+))?>/g,
      (_all, kind: string, table = "") => this.#part(kind, table),
    );
    return { sql, isOrdered: / ORDER BY ALL(?: LIMIT \d+)?$/.test(sql) };
  }

  #part(kind: string, table: string): string {
    switch (kind) {
      case "text":
        return this.#text(table);
      case "number":
        return this.#number(table);
      case "same":
        return this.#same ??= this.#text("");
      case "again": {
        const same = this.#same ?? "";
        this.#same = undefined;
        return same;
      }
      case "where":
        return this.#where(table, 2);
      case "time":
        return this.#pick(TIMES);
      default:
        throw new Error(`no part ${kind}`);
    }
  }

  #same: string | undefined;

  #text(table: string): string {
    const name = this.#pick(ATTRIBUTE_NAMES);
    const column = table === ""
      ? this.#pick(["attributes", "attributes", '"ATTRIBUTES"'])
      : `${table}.attributes`;
    if (isNested(name)) return this.#nested(column, name);
    const quoted = name.replaceAll("'", "''");
    const member = name.replaceAll('"', '\\"');
    return this.#pick([
      `attr_get(${column}, '${quoted}')`,
      `attr_get(${column}, '${quoted}')`,
      `(${column}->>'${quoted}')`,
      `(${column}->>'$."${member}"')`,
      `json_extract_string(${column}, '/${quoted}')`,
      `json_extract_string(${column}, '${quoted}')`,
    ]);
  }

  #nested(column: string, path: string): string {
    const names = namesTo(path);
    const [outer = "", ...inner] = names;
    return this.#pick([
      `(${column}->>'${path}')`,
      `(${column}->>'$.${names.map((name) => `"${name}"`).join(".")}')`,
      `json_extract_string(${column}, '/${names.join("/")}')`,
      `(${column}->'${outer}'->>'$.${inner.join(".")}')`,
      `(${column}->${names.slice(0, -1).map((name) => `'${name}'`).join("->")}->>'${
        names.at(-1)
      }')`,
      `(json_extract(${column}, '/${outer}')->>'/${inner.join("/")}')`,
      // Its own name is the path: no row has it.
      `attr_get(${column}, '${path}')`,
    ]);
  }

  #number(table: string): string {
    const text = this.#text(table);
    const type = this.#pick(["DOUBLE", "DOUBLE", "BIGINT", "INTEGER", "DECIMAL(12,2)", "HUGEINT"]);
    return this.#random.float() < 0.9 ? `TRY_CAST(${text} AS ${type})` : `CAST(${text} AS ${type})`;
  }

  #where(table: string, depth: number): string {
    const text = this.#text(table);
    const number = this.#number(table);
    const conditions = [
      `${text} = '${this.#pick(VALUES)}'`,
      `${text} IN ('${this.#pick(VALUES)}', '${this.#pick(VALUES)}')`,
      `${text} > '${this.#pick(VALUES)}'`,
      `${text} BETWEEN '${this.#pick(VALUES)}' AND '${this.#pick(VALUES)}'`,
      `${text} IS ${this.#pick(["", "NOT "])}NULL`,
      `${text} LIKE '%${this.#pick(["0", "R", "u", "."])}%'`,
      `${number} ${this.#pick(["=", ">", "<=", "<>"])} ${
        this.#pick(["0", "7", "200", "1.5", "503"])
      }`,
      `timestamp >= '2025-11-21T04:40:2${this.#pick(["0", "1", "5"])}Z'`,
      "host = 'h1'",
    ];
    const one = this.#pick(conditions);
    if (depth === 0 || this.#random.float() < 0.4) return one;
    const other = this.#where(table, depth - 1);
    return this.#pick([`${one} AND ${other}`, `(${one} OR ${other})`, `NOT (${one})`]);
  }

  #pick<T>(of: readonly T[]): T {
    return of[Math.floor(this.#random.float() * of.length)] as T;
  }
}

const VALUES = ["ERROR", "INFO", "503", "200", "7", "u1", "u2", "true", "1.5", "1000.0", "x", ""];

const TIMES = [
  "date_trunc('minute', timestamp)",
  "date_trunc('second', timestamp)",
  "time_bucket(INTERVAL 1 minute, timestamp)",
  "date_bin(INTERVAL '5 minutes', timestamp)",
  "strftime(timestamp, '%H:%M')",
];

/**
 * `<text e>` is an attribute of `e`. `<same>` and `<again>` are one expression, the latter last.
 */
const SHAPES: readonly string[] = [
  "SELECT <text>, <text> FROM events",
  "SELECT <text> AS a, <number> AS b, raw FROM events WHERE <where>",
  "SELECT raw FROM events WHERE <where> ORDER BY ALL",
  "SELECT raw FROM events e WHERE <where e> ORDER BY ALL LIMIT 5",
  "SELECT * FROM events WHERE <where> ORDER BY ALL LIMIT 7",
  "SELECT e.*, <text e> AS extra FROM events AS e WHERE <where>",
  "SELECT * EXCLUDE (raw) FROM events WHERE <where>",
  "SELECT * REPLACE (upper(raw) AS raw) FROM events WHERE <where>",
  "SELECT COLUMNS('a.*'), <text> AS t FROM events WHERE <where>",
  "SELECT events FROM events WHERE <where>",
  "SELECT count(*) FROM events WHERE <where>",
  "SELECT <same> AS a, count(*) AS n FROM events GROUP BY <again>",
  "SELECT <same>, count(*) FROM events WHERE <where> GROUP BY <again> ORDER BY ALL",
  "SELECT <time> AS m, <text> AS s, count(*) AS n FROM events GROUP BY ALL ORDER BY ALL",
  "SELECT <time> AS m, <text> AS s, count(*) AS n FROM events WHERE <where> GROUP BY 1, 2",
  "SELECT host, avg(<number>), min(<number>), max(<number>) FROM events GROUP BY host",
  "SELECT host, sum(<number>), count(<number>) FROM events WHERE <where> GROUP BY ALL",
  "SELECT <text> AS u, sum(<number>) AS n FROM events GROUP BY ALL ORDER BY ALL LIMIT 3",
  "SELECT sum(<number>) FROM events",
  "SELECT sum(TRY_CAST(attr_get(attributes, 'status') AS BIGINT)) AS s, avg(TRY_CAST(attr_get(attributes, 'status') AS DOUBLE)) AS a FROM events",
  "SELECT host, sum(TRY_CAST(attr_get(attributes, 'status') AS BIGINT)) AS s, min(TRY_CAST(attr_get(attributes, 'status') AS DOUBLE)) AS a FROM events GROUP BY host",
  "SELECT host, sum(TRY_CAST(attributes->>'$.http.status' AS BIGINT)) AS s, avg(TRY_CAST(attributes->'http'->'user'->>'ms' AS DOUBLE)) AS a FROM events GROUP BY host",
  "SELECT attributes->>'$.http.status' AS t, count(*) AS n FROM events GROUP BY ALL",
  "SELECT attr_get(attributes, 'status') AS t, sum(TRY_CAST(attr_get(attributes, 'status') AS BIGINT)) AS s FROM events GROUP BY ALL",
  "SELECT count(<text>), count(DISTINCT <text>), min(<text>), max(<text>) FROM events",
  "SELECT <text> AS u, count(*) AS n FROM events GROUP BY ALL HAVING count(<text>) > 1 ORDER BY ALL",
  "SELECT <text> AS u, count(*) AS n FROM events GROUP BY ALL HAVING u > '2' ORDER BY ALL",
  "SELECT host, count(*) AS n FROM events GROUP BY ALL HAVING <text> IS NULL AND max(<text>) IS NULL",
  "SELECT <same> AS u, count(*) AS n FROM events GROUP BY <same> HAVING <again> IS NOT NULL",
  "SELECT count(*) FILTER (WHERE <where>), host FROM events GROUP BY host",
  "SELECT CASE WHEN <where> THEN <text> ELSE 'no' END AS c, count(*) AS n FROM events GROUP BY ALL",
  "SELECT CASE WHEN <where> THEN <number> END AS c FROM events",
  "SELECT DISTINCT <text> AS a, <text> AS b FROM events ORDER BY ALL",
  "SELECT raw, row_number() OVER (PARTITION BY <text> ORDER BY <text>, raw) AS r FROM events",
  "SELECT raw FROM events QUALIFY row_number() OVER (PARTITION BY <text> ORDER BY raw) = 1",
  "SELECT raw, lag(<number>) OVER (ORDER BY raw) AS l FROM events WHERE <where>",
  "WITH e AS (SELECT * FROM events WHERE <where>) SELECT <text> AS a, count(*) AS n FROM e GROUP BY ALL",
  "WITH e AS (SELECT raw, attributes AS a FROM events), f AS (SELECT * FROM e) SELECT attr_get(a, 'status') AS s, * FROM f",
  "WITH e AS MATERIALIZED (SELECT * FROM events) SELECT * FROM e WHERE <where> ORDER BY ALL LIMIT 4",
  "SELECT attributes->>'status' AS s, x.* FROM (SELECT * FROM events WHERE <where>) x",
  "SELECT <number> AS s FROM (SELECT * FROM events ORDER BY raw LIMIT 9) AS x",
  "SELECT attr_get(x.attributes, 'status') AS s FROM (SELECT DISTINCT attributes FROM events) x",
  "SELECT TRY_CAST(attr_get(attributes, 'status') AS DOUBLE) AS s FROM (SELECT DISTINCT attributes FROM events) x",
  "SELECT attr_get(attributes, 'status') AS s FROM (SELECT attributes FROM events UNION SELECT attributes FROM events WHERE <where>) u",
  "SELECT <number> AS s, count(*) AS n FROM (SELECT attributes FROM events UNION ALL SELECT attributes FROM events WHERE <where>) GROUP BY ALL",
  "SELECT <number u> AS s, count(*) AS n FROM (SELECT * FROM events UNION ALL SELECT * FROM events WHERE <where>) u GROUP BY ALL",
  "SELECT attributes FROM events EXCEPT SELECT attributes FROM events WHERE <where>",
  "SELECT attr_get(attributes, 'status') AS s FROM (SELECT attributes FROM events INTERSECT SELECT attributes FROM events WHERE <where>) u",
  "SELECT a.raw, <text b> AS t FROM events a JOIN events b ON a.raw = b.raw WHERE <where a>",
  "SELECT a.raw, b.raw FROM events a LEFT JOIN events b ON <text a> = <text b> AND a.raw = b.raw",
  "SELECT a.raw, <text b> FROM events a JOIN events b USING (raw) WHERE <where b>",
  "SELECT * FROM events a JOIN events b USING (raw, host) WHERE <where b>",
  "SELECT raw FROM events NATURAL JOIN (SELECT raw FROM events WHERE <where>) x WHERE <where>",
  "SELECT raw FROM events WHERE raw IN (SELECT raw FROM events WHERE <where>)",
  "SELECT raw, (SELECT max(attr_get(i.attributes, 'status')) FROM events i WHERE i.raw = o.raw) AS m FROM events o",
  "SELECT raw FROM events o WHERE EXISTS (SELECT * FROM events i WHERE i.raw = o.raw AND <text i> = <text o>)",
  "SELECT o.raw, l.s FROM events o, LATERAL (SELECT attr_get(o.attributes, 'status') AS s) l",
  "SELECT upper(raw) AS attributes, <text> AS t FROM events WHERE <where>",
  "SELECT raw AS attributes FROM events ORDER BY attr_get(attributes, 'status'), raw",
  "SELECT attributes, attr_get(attributes, 'status') AS s, count(*) AS n FROM events GROUP BY attributes",
  "SELECT attributes, attr_get(attributes, 'status') AS s, count(*) AS n FROM events GROUP BY ALL",
  "SELECT TRY_CAST(attr_get(attributes, 'status') AS INT) AS s, count(*) AS n FROM events GROUP BY attr_get(attributes, 'status')",
  "SELECT attr_get(attributes, 'status') AS s FROM events GROUP BY attributes->>'status'",
  "SELECT attr_get(attributes, 'status') AS s, count(*) FROM events GROUP BY host",
  "SELECT <text>, <text>, count(*) FROM events GROUP BY ROLLUP (1, 2)",
  "SELECT x.\"attr_get(attributes, 'status')\" FROM (SELECT attr_get(attributes, 'status') FROM events) x",
  "SELECT list_transform([1], lambda attributes: attributes + 1), <text> FROM events",
  "SELECT <text> FROM events e(attributes, b, c) LIMIT 0",
  "SELECT <text nowhere> FROM events",
  "SELECT 1 AS one, t.* FROM (SELECT *, attr_get(attributes, 'status') AS status FROM events) t WHERE status IS NOT NULL",
  "SELECT status, severity_text FROM events",
  "FROM events WHERE <where> ORDER BY ALL LIMIT 3",
  "SELECT * FROM (VALUES ('{\"status\":1}')) v(attributes) WHERE <where>",
  "SELECT #1, <text> FROM events",
  "SELECT raw FROM events WHERE <where> ORDER BY timestamp DESC LIMIT 3",
  "SELECT raw FROM events WHERE <where> ORDER BY timestamp LIMIT 2",
];
