/**
 * Random statements whose conditions a planner may read. They have predicates of every kind over
 * `events` and `metrics`, in every place where a condition can stand, also where it must not count.
 */

import type { SeededRandom } from "../../shared/testing/seeded_random.ts";

/** Values that rows have, and parts of which the statements ask for. */
export const HOSTS = ["web-1", "web-2", "db-1", "Zürich", "東京", "", "o'neil", "a%b_c"];
export const REGIONS = ["eu", "us", "日本", "eu-west-1"];
export const NAMES = ["cpu", "mem", "disk"];
export const KEYS = ["user", "status", "http.method", "trace", "a/b", "a~c"];
export const VALUES = ["anna", "bob", "200", "500", "GET", "", "null", "true", "Žofie", "1.5"];
export const WORDS = [
  ...[
    "error",
    "timeout",
    "refused",
    "connection",
    "GET",
    "orders",
    "İstanbul",
    "naïve",
    "cafe\u0301",
  ],
  ...[
    "straße",
    "ΣΑΣ",
    "错误",
    "数据库",
    "けん",
    "a_b",
    "user42",
    "x",
    "100%",
    "\u212Aelvin",
    "ſharp",
    "user=anna",
    "user=bob,",
    "user='a_b x'",
    'user="a\\nb"',
    'user="anna \\"x\\""',
  ],
];

export class StatementMaker {
  constructor(
    private readonly random: SeededRandom,
    /** That rows have. */
    private readonly words: readonly string[],
  ) {}

  statement(): string {
    return this.#pick(SHAPES)(this);
  }

  /** Over `events`, its columns behind `prefix`. */
  event(prefix = ""): string {
    return this.#composed(() => this.#eventLeaf(prefix));
  }

  /** Over `metrics`, its columns behind `prefix`. */
  metric(prefix = ""): string {
    return this.#composed(() => this.#metricLeaf(prefix));
  }

  below(bound: number): number {
    return this.random.below(bound);
  }

  #composed(leaf: () => string, depth = 0): string {
    const roll = this.random.float();
    if (depth >= 3 || roll < 0.5) return leaf();
    const inner = () => this.#composed(leaf, depth + 1);
    if (roll < 0.68) return `(${inner()} AND ${inner()})`;
    if (roll < 0.86) return `(${inner()} OR ${inner()})`;
    if (roll < 0.96) return `NOT (${inner()})`;
    return this.#pick([
      () => `(${inner()}) IS NULL`,
      () => `(${inner()}) IS NOT TRUE`,
      () => `coalesce(${inner()}, true)`,
      () => `CASE WHEN ${inner()} THEN false ELSE true END`,
      () => `(${inner()}) = (${inner()})`,
    ])();
  }

  #eventLeaf(p: string): string {
    const raw = `${p}raw`;
    const host = `${p}host`;
    return this.#pick<() => string>([
      () => `${raw} ${this.#not()}LIKE ${this.#pattern()}`,
      () => `${raw} ${this.#not()}ILIKE ${this.#pattern()}`,
      () => `${host} ${this.#not()}LIKE ${this.#pattern(HOSTS)}`,
      () => `${raw} ${this.#not()}LIKE '%100!%%' ESCAPE '!'`,
      () => `${host} ${this.#not()}ILIKE 'A!%B!_%' ESCAPE '!'`,
      () =>
        `${
          this.#pick(["contains", "starts_with", "ends_with", "prefix", "suffix"])
        }(${raw}, ${this.#run()})`,
      () => `${this.#match()}(${raw}, ${this.#terms()})`,
      () => `${this.#match()}(${raw}, ${this.#terms()})`,
      () =>
        `${this.#match()}(${
          this.#pick([`lower(${raw})`, `${p}attributes`, host])
        }, ${this.#terms()})`,
      () => `${host} ${this.#comparison()} ${this.#text(HOSTS)}`,
      () => `${this.#text(HOSTS)} ${this.#comparison()} ${host}`,
      () =>
        `${host} ${this.#not()}IN (${this.#text(HOSTS)}, ${this.#text(HOSTS)}${
          this.#pick(["", ", NULL"])
        })`,
      () => `${host} ${this.#not()}BETWEEN ${this.#text(HOSTS)} AND ${this.#text(HOSTS)}`,
      () => `${host} IS ${this.#not()}DISTINCT FROM ${this.#text(HOSTS)}`,
      () => `${host} COLLATE NOCASE = 'WEB-1'`,
      () => `lower(${raw}) LIKE ${this.#pattern()}`,
      () =>
        `${host} = ${
          this.#pick([
            "'web' || '-1'",
            "lower('WEB-2')",
            "concat('db', '-', '1')",
            "NULL",
            "'web-1'::VARCHAR",
          ])
        }`,
      () => `${host} = ${p}source`,
      () => `${raw} ^@ ${this.#run()}`,
      () =>
        `${this.#attribute(p)} ${this.#pick(["=", "<>", "IS NOT DISTINCT FROM"])} ${
          this.#text(VALUES)
        }`,
      () => `${this.#attribute(p)} ${this.#not()}IN (${this.#text(VALUES)}, ${this.#text(VALUES)})`,
      () => `${p}attributes IS ${this.#not()}NULL`,
      () => `${p}timestamp ${this.#pick(["<", ">="])} TIMESTAMPTZ '2026-09-22 14:00:00Z'`,
      () => `${this.#regexCall()}(${raw}, ${this.#regex()})`,
      () => `regexp_matches(lower(${raw}), ${this.#regex()})`,
      () => `${raw} ${this.#pick(["~", "!~", "SIMILAR TO"])} ${this.#regex()}`,
      () => `regexp_matches(${raw}, ${this.#regex()}, ${this.#pick(["'i'", "'s'", "'l'"])})`,
      () => `contains(lower(${raw}), ${this.#run()})`,
      () => `kv_extract(${raw}, 'user') ${this.#not()}IN (${this.#pair()}, ${this.#pair()})`,
      () => `kv_extract(${raw}, 'user') ${this.#comparison()} ${this.#pair()}`,
      () => `${raw} GLOB ${this.#pattern().replaceAll("%", "*").replaceAll("_", "?")}`,
      () => `${raw} ${this.#not()}LIKE ${this.#pattern()} ESCAPE '!'`,
      () => this.#pick(["true", "NULL", "1 = 1"]),
    ])();
  }

  #metricLeaf(p: string): string {
    return this.#pick<() => string>([
      () => `${p}name ${this.#comparison()} ${this.#text(NAMES)}`,
      () => `${p}region ${this.#comparison()} ${this.#text(REGIONS)}`,
      () => `${p}region ${this.#not()}IN (${this.#text(REGIONS)}, ${this.#text(REGIONS)})`,
      () => `${p}region ${this.#not()}LIKE ${this.#pattern(REGIONS)}`,
      () => `${p}region IS ${this.#not()}NULL`,
      () => `${p}region ${this.#pick(["=", "<>"])} 'nowhere'`,
      () =>
        `${p}hits ${this.#comparison()} ${
          this.#pick(["0", "1", "-7", "42", "9007199254740993", "0.5", "'42'"])
        }`,
      () => `${p}hits ${this.#not()}IN (1, 42, -7)`,
      () => `${p}hits ${this.#not()}BETWEEN 0 AND 50`,
      () =>
        `${p}code ${this.#comparison()} ${
          this.#pick(["200", "404", "500", "3000000000", "404.0"])
        }`,
      () => `${p}code ${this.#not()}IN (200, 404.5)`,
      () =>
        `${p}value ${this.#comparison()} ${
          this.#pick(["0", "-100.5", "1e2", "499.999", "'NaN'::DOUBLE", "0.1"])
        }`,
      () => `${this.#pick(["200", "0", "-100.5"])} ${this.#comparison()} ${p}value`,
      () => `${p}latency ${this.#comparison()} ${this.#pick(["0", "500", "1249.875"])}`,
      () =>
        this.#pick([`${p}ok`, `NOT ${p}ok`, `${p}ok = true`, `${p}ok <> true`, `${p}ok IS NULL`]),
    ])();
  }

  #attribute(p: string): string {
    const key = this.#pick(KEYS);
    return this.#pick([
      `attr_get(${p}attributes, ${quoted(key)})`,
      `attr_get(${p}attributes, ${quoted(key)})`,
      `(${p}attributes ->> '$.user')`,
      `(${p}attributes ->> '$.user.user')`,
      `(${p}attributes -> 'status' ->> 'user')`,
      `(${p}attributes ->> 'status')`,
      `json_extract_string(${p}attributes, '$.status')`,
      `json_extract_string(${p}attributes, '/user')`,
    ]);
  }

  #match(): string {
    return this.#pick(["match_terms", "match", "match_any", "match_phrase", "match_prefix"]);
  }

  #terms(): string {
    const count = 1 + this.below(3);
    return quoted(
      Array.from({ length: count }, () => this.#word()).join(this.#pick([" ", "-", ", "])),
    );
  }

  #word(): string {
    const word = this.#pick(this.words);
    const letters = [...word];
    return this.#pick([
      word,
      word,
      word.toUpperCase(),
      letters.slice(0, 1 + this.below(letters.length)).join(""),
      "absent",
    ]);
  }

  #run(): string {
    const letters = [...this.#pick(this.words)];
    const from = this.below(letters.length);
    return quoted(letters.slice(from, from + 1 + this.below(6)).join(""));
  }

  #pair(): string {
    return this.#pick([
      "'anna'",
      "'anna'",
      "'bob'",
      "'a_b x'",
      "'x'",
      `'anna "x"'`,
      "'a\\nb'",
      "''",
      "NULL",
    ]);
  }

  #regexCall(): string {
    return this.#pick(["regexp_matches", "regexp_matches", "regexp_full_match"]);
  }

  /** An expression of parts of words, some in any case. */
  #regex(): string {
    const part = () => {
      const letters = [...this.#pick(this.words)].filter((letter) =>
        /[\p{L}\p{M}\d_ %]/u.test(letter)
      );
      const from = this.below(Math.max(1, letters.length));
      const text = letters.slice(from, from + 1 + this.below(6)).join("");
      return this.#pick([text, text, text.toUpperCase(), text.normalize("NFKC").toLowerCase()]);
    };
    const form = this.#pick([
      ...["*", "*.*", ".*(*|*)", "(?i)*", "*|*|*", "(?i)(*|*).?", "*+.", "(*)?*", "[*]", "*\\b"],
      ...["(?P<x>*).*", ".*(?:*|(*|*)).*", "*{0}"],
    ]);
    return quoted(form.replace(/(?<!\.|\])\*/g, () => part() || "x"));
  }

  #pattern(values: readonly string[] = this.words): string {
    const letters = [...this.#pick(values)];
    const from = this.below(Math.max(1, letters.length));
    const run = letters.slice(from, from + 1 + this.below(6)).join("");
    const form = this.#pick(["%*%", "%*%", "*%", "%*", "*", "%*_%", "_*%", "%*%*%"]);
    const text = this.random.chance(0.2) ? run.toUpperCase() : run;
    return quoted(form.replaceAll("*", () => text));
  }

  #text(values: readonly string[]): string {
    return quoted(this.random.chance(0.1) ? "absent" : this.#pick(values));
  }

  #comparison(): string {
    return this.#pick(["=", "=", "=", "<>", "<", "<=", ">", ">="]);
  }

  #not(): string {
    return this.random.chance(0.3) ? "NOT " : "";
  }

  #pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

type Shape = (make: StatementMaker) => string;

const ORDERED = "timestamp DESC, timestamp_ns DESC, host, source, raw, attributes";

/** Without an order, where each row of the answer follows from its own rows alone. */
const SHAPES: readonly Shape[] = [
  (m) => `SELECT * FROM events WHERE ${m.event()}`,
  (m) => `SELECT host, raw, timestamp_ns FROM events AS e WHERE ${m.event("e.")}`,
  (m) => `SELECT count(*), count(attributes), min(raw), max(raw) FROM events WHERE ${m.event()}`,
  (m) => `SELECT * FROM metrics WHERE ${m.metric()}`,
  (m) => `SELECT name, count(*), sum(hits) FROM metrics WHERE ${m.metric()} GROUP BY name`,
  (m) => `SELECT count(*) FILTER (WHERE ${m.event()}), count(*) FROM events WHERE ${m.event()}`,
  (m) =>
    `SELECT host, count(*) AS n FROM events GROUP BY host HAVING count(*) FILTER (WHERE ${m.event()}) > 2`,
  (m) =>
    `SELECT ${
      ORDERED.replaceAll(" DESC", "")
    } FROM events WHERE ${m.event()} ORDER BY ${ORDERED} LIMIT ${1 + m.below(40)}`,
  (m) =>
    `SELECT timestamp, timestamp_ns FROM events WHERE ${m.event()} ORDER BY timestamp DESC, timestamp_ns DESC ` +
    `LIMIT ${1 + m.below(20)} OFFSET ${m.below(20)}`,
  (m) =>
    `SELECT timestamp_ns FROM events WHERE ${m.event()} ORDER BY timestamp_ns LIMIT ${
      1 + m.below(20)
    }`,
  (m) => `SELECT lower(raw) AS raw, source AS host FROM events WHERE ${m.event()}`,
  (m) => `SELECT upper(raw) AS big FROM events WHERE big LIKE '%ERROR%' AND ${m.event()}`,
  (m) =>
    `SELECT e.host, f.source FROM events e JOIN events f ON e.timestamp_ns = f.timestamp_ns AND ${
      m.event("e.")
    } WHERE ${m.event("f.")}`,
  (m) =>
    `SELECT e.host, m.name FROM events e ${
      ["LEFT", "RIGHT", "FULL", "SEMI", "ANTI"][m.below(3)]
    } JOIN metrics m ` +
    `ON e.timestamp_ns = m.timestamp_ns AND ${m.event("e.")} AND ${m.metric("m.")} WHERE ${
      m.event("e.")
    } OR ${m.metric("m.")}`,
  (m) =>
    `SELECT e.host, m.name FROM events e ${["LEFT", "RIGHT", "FULL"][m.below(3)]} JOIN metrics m ` +
    `ON e.timestamp_ns = m.timestamp_ns AND ${m.event("e.")} AND ${m.metric("m.")} WHERE ${
      m.metric("m.")
    }`,
  (m) =>
    `SELECT e.host FROM events e ${["SEMI", "ANTI"][m.below(2)]} JOIN metrics m ` +
    `ON e.timestamp_ns = m.timestamp_ns AND ${m.event("e.")} AND ${m.metric("m.")} WHERE ${
      m.event("e.")
    }`,
  (m) =>
    `SELECT e.host, m.name FROM (events e LEFT JOIN metrics m ON e.timestamp_ns = m.timestamp_ns AND ${
      m.metric("m.")
    }) ` +
    `JOIN metrics n ON n.timestamp_ns = e.timestamp_ns AND ${m.metric("n.")} AND ${m.metric("m.")}`,
  (m) =>
    `SELECT host FROM events e WHERE EXISTS (SELECT 1 FROM metrics m WHERE m.timestamp_ns = e.timestamp_ns AND ${
      m.metric("m.")
    } AND ${m.event("e.")})`,
  (m) =>
    `SELECT host FROM events e WHERE NOT EXISTS (SELECT 1 FROM metrics m WHERE m.timestamp_ns = e.timestamp_ns AND ${
      m.metric("m.")
    } AND ${m.event("e.")})`,
  (m) =>
    `SELECT name FROM metrics WHERE timestamp_ns NOT IN (SELECT timestamp_ns FROM events WHERE ${m.event()}) AND ${m.metric()}`,
  (m) =>
    `SELECT name, (SELECT count(*) FROM events e WHERE e.timestamp_ns = m.timestamp_ns AND ${
      m.event("e.")
    }) AS n FROM metrics m WHERE ${m.metric("m.")}`,
  (m) =>
    `SELECT name FROM metrics e WHERE (SELECT count(*) FROM events e WHERE ${
      m.event("e.")
    }) > 100 AND ${m.metric("e.")}`,
  (m) =>
    `WITH a AS (SELECT * FROM events WHERE ${m.event()}), events AS (SELECT * FROM a WHERE ${m.event()}) SELECT count(*), max(host) FROM events WHERE ${m.event()}`,
  (m) =>
    `SELECT h.host, x.n FROM (SELECT DISTINCT host FROM events) h, LATERAL (SELECT count(*) AS n FROM events e WHERE e.host = h.host AND ${
      m.event("e.")
    }) x`,
  (m) =>
    `SELECT e.host, x.name FROM events e LEFT JOIN LATERAL (SELECT m.name FROM metrics m WHERE m.timestamp_ns = e.timestamp_ns AND ${
      m.event("e.")
    }) x ON true WHERE ${m.event("e.")}`,
  (m) =>
    `SELECT host, timestamp_ns FROM events WHERE ${m.event()} QUALIFY row_number() OVER (PARTITION BY host ORDER BY ${ORDERED}) = 1`,
  (m) =>
    `SELECT host FROM events WHERE ${m.event()} UNION ALL SELECT host FROM events WHERE ${m.event()}`,
  (m) => `SELECT host FROM events EXCEPT ALL SELECT host FROM events WHERE ${m.event()}`,
  (m) => `SELECT DISTINCT host, source FROM events WHERE ${m.event()}`,
  (m) =>
    `SELECT count(*), sum(n) FROM (SELECT host, count(*) AS n FROM events WHERE ${m.event()} GROUP BY host) AS events WHERE host <> ''`,
  (m) =>
    `SELECT a, h FROM events t(t, n, h, s, k, i, a, j) WHERE a LIKE '%error%' OR h = 'web-1' AND ${
      m.below(2)
    } = 0`,
  (m) => `SELECT count(*) FROM (SELECT * FROM events) AS events WHERE ${m.event()}`,
  (m) => `SELECT sum(count(*)) OVER (), host FROM events WHERE ${m.event()} GROUP BY host`,
];
