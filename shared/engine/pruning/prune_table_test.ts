import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import type { RowQuery, RowSet } from "../../derived/rows/row_query.ts";
import type { RowObject } from "../../columns/rows.ts";
import type { TableSchema } from "../../schema/schema.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import type { RowIndexes } from "./row_index.ts";

const START_NS = 1_790_000_000_000_000_000n; // 2026-09-21T14:13:20Z
const ALL: RowSet = { kind: "all" };

/** Remembers what it is asked. */
class AskedIndexes implements RowIndexes {
  readonly asked: RowQuery[] = [];
  answer: RowSet = ALL;
  rows(_file: unknown, query: RowQuery): Promise<RowSet> {
    this.asked.push(query);
    return Promise.resolve(this.answer);
  }
}

const words = (mode: string, text: string) => ({ kind: "terms", column: "raw", mode, text });
const holds = (text: string, ignoreCase = false) => ({
  kind: "substring",
  column: "raw",
  text,
  ignoreCase,
});
const host = (...values: string[]) => ({ kind: "equals", column: "host", values });
const attribute = (name: string, ...values: string[]) => ({
  kind: "attribute",
  column: "attributes",
  name,
  values,
});

/** What a WHERE over `events` asks of an index; undefined: it is not asked. */
const ASKED: readonly (readonly [where: string, query: unknown])[] = [
  ["match_terms(raw, 'a b')", words("all", "a b")],
  ["match(raw, 'a') AND timestamp > TIMESTAMP '2020-01-01'", words("all", "a")],
  ["match_any(raw, 'a b')", words("any", "a b")],
  ["match_phrase(RAW, 'a b')", words("phrase", "a b")],
  ["match_prefix(events.raw, 'a')", words("prefix", "a")],
  ["match_terms(lower(raw), 'a')", undefined],
  ["match_terms(raw, host)", undefined],
  ["match_terms(text := raw, terms := 'a')", undefined],
  ["match_terms(timestamp_ns, '1')", undefined],
  ["NOT match_terms(raw, 'a')", undefined],
  ["NOT (NOT match_terms(raw, 'a'))", words("all", "a")],
  ["(NOT match_terms(raw, 'a')) IS NULL", undefined],
  ["raw LIKE '%ab_cd%'", { kind: "and", of: [holds("ab"), holds("cd")] }],
  ["raw LIKE 'ab%'", holds("ab")],
  ["raw LIKE '%'", undefined],
  ["raw NOT LIKE '%ab%'", undefined],
  ["NOT raw NOT LIKE '%ab%'", holds("ab")],
  ["raw ILIKE '%Ab%'", holds("Ab", true)],
  ["raw LIKE '%50!%!_%' ESCAPE '!'", holds("50%_")],
  [String.raw`raw LIKE '%50\%'`, holds("50\\")],
  ["raw LIKE host", undefined],
  ["lower(raw) LIKE '%ab%'", holds("ab", true)],
  ["starts_with(lcase(raw), 'ab')", holds("ab", true)],
  ["lower(raw) = 'ab'", undefined],
  ["upper(raw) LIKE '%AB%'", undefined],
  ["raw GLOB 'ab?*'", holds("ab")],
  ["raw GLOB '*[ab]cd'", undefined],
  ["host GLOB 'a'", host("a")],
  ["contains(raw, 'ab')", holds("ab")],
  ["starts_with(raw, 'ab') AND ends_with(raw, 'cd')", {
    kind: "and",
    of: [holds("ab"), holds("cd")],
  }],
  ["host = 'a'", host("a")],
  ["'a' = host", host("a")],
  ["host = '' || lower('A')", host("a")],
  ["host IN ('a', 'b', NULL)", host("a", "b")],
  ["host NOT IN ('a')", undefined],
  ["NOT (host <> 'a')", host("a")],
  ["host IS NOT DISTINCT FROM 'a'", host("a")],
  ["host = NULL", undefined],
  ["host = 5", undefined],
  ["host COLLATE NOCASE = 'a'", undefined],
  ["host > 'a'", undefined],
  ["host LIKE 'a'", host("a")],
  ["attr_get(attributes, 'k.x/y') = 'v'", attribute("k.x/y", "v")],
  ["attr_get(attributes, 'k') IN ('v', 'w')", attribute("k", "v", "w")],
  ["attr_get(attributes, 'k') <> 'v'", undefined],
  ["attr_get(attributes, 'k') = 5", undefined],
  ["attributes ->> '$.k' = 'v'", attribute("k", "v")],
  ["attributes ->> '$.k.l' = 'v'", attribute("$.k.l", "v")],
  ["attributes -> 'k' ->> 'l' IN ('v', 'w')", attribute("$.k.l", "v", "w")],
  ["attributes ->> '$.a.b.c.d.e.f.g.h' = 'v'", attribute("$.a.b.c.d.e.f.g.h", "v")],
  ["attributes ->> '$.a.b.c.d.e.f.g.h.i' = 'v'", undefined],
  ["(attributes ->> '$.*') = 'v'", undefined],
  ["host = 'a' OR match_terms(raw, 'b')", { kind: "or", of: [host("a"), words("all", "b")] }],
  ["host = 'a' OR length(raw) = 3", undefined],
  ["host = 'a' AND length(raw) = 3", host("a")],
  ["NOT (host <> 'a' OR raw NOT LIKE '%b%')", { kind: "and", of: [host("a"), holds("b")] }],
  ["kv_extract(raw, 'k') = 'a b'", words("phrase", "a b")],
  ["kv_extract(raw, host) IN ('a', 'b')", {
    kind: "or",
    of: [words("phrase", "a"), words("phrase", "b")],
  }],
  ["kv_extract(raw, 'k') IN ('a', '')", undefined],
  ["kv_extract(raw, 'k') = 'a\"b'", words("phrase", 'a"b')],
  ["kv_extract(raw, 'k') = 'é'", undefined],
  ["kv_extract(raw, 'k') <> 'a'", undefined],
  ["kv_extract(raw, 'k') > 'a'", undefined],
  ["CASE WHEN host = 'a' THEN true ELSE false END", undefined],
  ["host = 'a' IS TRUE", undefined],
  ["regexp_matches(raw, 'ab.(cd|ef)')", {
    kind: "and",
    of: [holds("ab"), { kind: "or", of: [holds("cd"), holds("ef")] }],
  }],
  ["regexp_matches(raw, 'refused', 'i')", {
    kind: "and",
    of: [holds("refu", true), holds("ed", true)],
  }],
  ["regexp_matches(raw, '(?i)sé')", undefined],
  ["regexp_matches(lower(raw), 'skip')", holds("skip", true)],
  ["regexp_matches(raw, host)", undefined],
  ["NOT regexp_matches(raw, 'ab')", undefined],
  ["raw ~ '.*ab'", holds("ab")],
  ["raw !~ '.*ab'", undefined],
  ["raw SIMILAR TO 'ab|.*'", undefined],
];

Deno.test({
  name: "pruneTable asks indexes what the WHERE says, and nothing that it does not",
  fn: async (t) => {
    const indexes = new AskedIndexes();
    await using lab = await EngineLab.open({ engine: { indexes } });
    await lab.commit([{ ns: START_NS, host: "a", raw: "ab cd", attributes: "{}" }]);
    for (const [where, query] of ASKED) {
      await t.step(where, async () => {
        indexes.asked.length = 0;
        await using _prepared = await lab.prepare(`SELECT count(*) FROM events WHERE ${where}`);
        deepStrictEqual(indexes.asked, query === undefined ? [] : [query]);
      });
    }
  },
});

Deno.test({
  name: "pruneTable fails its statement alone where indexes of several files fail",
  fn: async () => {
    const indexes = { rows: () => Promise.reject(new Error("a fault of the index")) };
    await using lab = await EngineLab.open({ engine: { indexes } });
    for (let file = 0n; file < 3n; file += 1n) {
      await lab.commit([{ ns: START_NS + file, raw: "a" }]);
    }
    await rejects(
      lab.query("SELECT raw FROM events WHERE contains(raw, 'a')"),
      /fault of the index/,
    );
  },
});

/** Statements whose conditions do not, or not all, filter the rows of `events e`. */
const SCOPES: readonly (readonly [sql: string, query: unknown])[] = [
  ["SELECT 1 FROM events e JOIN events f USING (host) WHERE e.host = 'a' AND f.host = 'b'", {
    kind: "or",
    of: [host("a"), host("b")],
  }],
  ["SELECT 1 FROM events e WHERE host IN (SELECT host FROM events WHERE host = 'b')", undefined],
  ["SELECT 1 FROM events e LEFT JOIN range(3) r(i) ON e.host = 'a'", undefined],
  ["SELECT 1 FROM range(3) r(i) LEFT JOIN events e ON e.host = 'a'", host("a")],
  ["SELECT 1 FROM range(3) r(i) RIGHT JOIN events e ON e.host = 'a'", undefined],
  ["SELECT 1 FROM events e FULL JOIN range(3) r(i) ON e.host = 'a' WHERE e.host = 'a'", undefined],
  ["SELECT 1 FROM events e JOIN range(3) r(i) ON e.host = 'a' OR r.i = 1", undefined],
  ["SELECT count(*) FILTER (WHERE host = 'a') FROM events", undefined],
  ["SELECT host FROM events GROUP BY host HAVING host = 'a'", undefined],
  ["SELECT host FROM events QUALIFY row_number() OVER () = 1 AND host = 'a'", undefined],
  ["SELECT host FROM events WHERE host = 'a' USING SAMPLE 1 ROWS", undefined],
  ["SELECT host FROM events TABLESAMPLE 1 ROWS WHERE host = 'a'", undefined],
  ["SELECT host FROM events e(host, b) WHERE e.host = 'a'", undefined],
  ["SELECT 'b' AS host FROM events WHERE host = 'a'", host("a")],
  ["SELECT raw AS shown FROM events WHERE shown = 'a'", undefined],
  ["SELECT 1 FROM (SELECT * FROM events WHERE host = 'a') WHERE host = 'b'", host("a")],
  ["WITH x AS (SELECT * FROM events) SELECT 1 FROM x WHERE host = 'a'", undefined],
  ["SELECT (SELECT max(raw) FROM events e WHERE e.host = r.host) FROM range(2) r(host)", undefined],
  ["SELECT 1 FROM range(2) r(i) WHERE EXISTS (SELECT 1 FROM events WHERE host = 'a')", host("a")],
];

Deno.test({
  name: "pruneTable asks what all references of a table allow, by conditions that drop rows",
  fn: async (t) => {
    const indexes = new AskedIndexes();
    await using lab = await EngineLab.open({ engine: { indexes } });
    await lab.commit([{ ns: START_NS, host: "a", raw: "ab cd", attributes: "{}" }]);
    for (const [sql, query] of SCOPES) {
      await t.step(sql, async () => {
        indexes.asked.length = 0;
        await using _prepared = await lab.prepare(sql);
        deepStrictEqual(indexes.asked, query === undefined ? [] : [query]);
      });
    }
  },
});

/** Takes so long for each lookup that the first ones use up the allowance. */
class SlowIndexes implements RowIndexes {
  asked = 0;

  async rows(): Promise<RowSet> {
    this.asked += 1;
    await new Promise((resolve) => setTimeout(resolve, 50));
    return ALL;
  }
}

Deno.test({
  name: "pruneTable begins with four lookups, or with a shard's part of them",
  fn: async () => {
    const indexes = new SlowIndexes();
    await using lab = await EngineLab.open({ engine: { indexes } });
    for (let file = 0; file < 6; file += 1) await lab.commit([{ ns: START_NS, host: "a" }]);
    const keys = (await Array.fromAsync(lab.store.list(""), ({ key }) => key))
      .filter((key) => key.endsWith(".parquet"));
    const files = keys.map((key) => ({ key }));
    const asked: number[] = [];
    for (const count of [undefined, 1, 2, 3, 8]) {
      indexes.asked = 0;
      const shard = count === undefined ? {} : { shard: { table: "events", files, count } };
      await using _prepared = await lab.prepare("SELECT raw FROM events WHERE host = 'a'", {
        ...shard,
        snapshot: "latest",
      });
      asked.push(indexes.asked);
    }
    deepStrictEqual(asked, [4, 4, 2, 1, 1]);
  },
});

const METRICS: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true },
    { id: 2, name: "timestamp_ns", type: "long", required: true },
    { id: 3, name: "name", type: "string", required: false },
    { id: 4, name: "value", type: "double", required: false },
    { id: 5, name: "hits", type: "long", required: false },
    { id: 6, name: "ok", type: "bool", required: false },
  ],
  tags: [],
};

/** Five files: texts and numbers in steps of ten, one file of nulls, one with a NaN. */
const FILES: readonly (readonly RowObject[])[] = [
  [
    { name: "alpha", value: 1, hits: 1n, ok: true },
    { name: "beta", value: 9, hits: 9n, ok: true },
  ],
  [
    { name: "gamma", value: 11, hits: 11n, ok: false },
    { name: "gammb", value: 19, hits: 19n, ok: false },
  ],
  [
    { name: "東京", value: -0, hits: -5n, ok: true },
    { name: "𐐷", value: 29, hits: 9_007_199_254_740_993n, ok: false },
  ],
  [{ name: null, value: null, hits: null, ok: null }],
  [{ name: "omega", value: NaN, hits: 0n, ok: null }, {
    name: "omega",
    value: 5,
    hits: 0n,
    ok: null,
  }],
];

/** Files that a WHERE over `metrics` leaves, of 0 to 4. */
const BOUNDED: readonly (readonly [where: string, files: readonly number[]])[] = [
  ["name = 'beta'", [0]],
  ["name IN ('alpha', 'omega')", [0, 4]],
  ["name > 'beta' AND name < 'gammaz'", [1]],
  ["name >= '東'", [2]],
  ["name = '\u{ffff}'", [2]],
  ["name BETWEEN 'b' AND 'c'", [0]],
  ["NOT name BETWEEN 'b' AND 'z'", [0, 2]],
  ["starts_with(name, 'gam')", [1]],
  ["name LIKE 'om%'", [4]],
  ["name ILIKE 'OM%'", [0, 1, 2, 4]],
  ["name = 'zeta' OR hits = 9", [0, 2]],
  ["hits = 9007199254740993", [2]],
  ["hits = 9007199254740992", [2]],
  ["hits < 0", [2]],
  ["hits > 9", [1, 2]],
  ["hits >= 9.5", [0, 1, 2, 3, 4]],
  ["hits = '9'", [0, 1, 2, 3, 4]],
  ["value < 0.5", [2, 4]],
  ["value = 0.0", [2, 4]],
  ["value > 20", [0, 1, 2, 4]],
  ["value <= -1", [4]],
  ["ok", [0, 2]],
  ["NOT ok", [1, 2]],
  ["ok = true AND hits > 10", [2]],
  ["name IS NULL", [0, 1, 2, 3, 4]],
  ["name IS DISTINCT FROM 'beta'", [0, 1, 2, 3, 4]],
  ["name = 'beta' IS NOT TRUE", [0, 1, 2, 3, 4]],
];

Deno.test({
  name: "pruneTable leaves out files by the bounds of their columns, and no row with them",
  fn: async (t) => {
    await using lab = await EngineLab.open();
    for (const [at, rows] of FILES.entries()) {
      const time = { timestamp: START_NS / 1_000n + BigInt(at), timestamp_ns: START_NS };
      await lab.commitRows(rows.map((row) => ({ ...row, ...time })), {
        ident: { namespace: "svc", name: "metrics" },
        schema: METRICS,
      });
    }
    for (const [where, files] of BOUNDED) {
      await t.step(where, async () => {
        const { rows, stats } = await lab.query(`SELECT name FROM metrics WHERE ${where}`);
        const all = await lab.query(`SELECT name FROM (FROM metrics) metrics WHERE ${where}`);
        deepStrictEqual(rows.toSorted(), all.rows.toSorted());
        strictEqual(stats.scan?.files_planned ?? 0, files.length);
        if (stats.scan === undefined || files.length === FILES.length) return;
        strictEqual(stats.scan.row_groups_pruned_stats, FILES.length - files.length);
        strictEqual(stats.scan.row_groups_pruned_bloom, 0);
      });
    }
    await t.step("a NaN is larger than all numbers", async () => {
      const { rows } = await lab.query("SELECT value::VARCHAR FROM metrics WHERE value > 20");
      deepStrictEqual(rows.toSorted(), [["29.0"], ["nan"]]);
    });
  },
});

Deno.test({
  name: "stats tell files, row groups and rows that indexes left out",
  fn: async () => {
    const indexes = new AskedIndexes();
    await using lab = await EngineLab.open({ engine: { indexes } });
    const rows = Array.from({ length: 1_000 }, (_, i) => ({
      ns: START_NS + BigInt(i),
      raw: `row ${i}`,
    }));
    await lab.commit(rows, { rowGroupRowsMax: 100 });
    const scanned = async (answer: RowSet) => {
      indexes.answer = answer;
      const { stats, rows } = await lab.query("SELECT raw FROM events WHERE contains(raw, 'row')");
      return { rows: rows.length, ...stats.scan };
    };
    const pick = (scan: Awaited<ReturnType<typeof scanned>>) => [
      scan.rows,
      scan.files_pruned_bloom,
      scan.row_groups_pruned_bloom,
      scan.row_groups_pruned_stats,
      scan.row_groups_read,
      scan.rows_pruned_selection,
    ];
    deepStrictEqual(pick(await scanned(ALL)), [1_000, 0, 0, 0, 10, 0]);
    deepStrictEqual(
      pick(await scanned({ kind: "groups", groups: Uint32Array.of(0, 1, 9), groupRows: 100 })),
      [
        ...[300, 0, 7, 0, 3, 700],
      ],
    );
    deepStrictEqual(pick(await scanned({ kind: "rows", rows: Uint32Array.of(5, 205, 999) })), [
      ...[3, 0, 7, 0, 3, 997],
    ]);
    const { files_planned: files, ...none } = await scanned({ kind: "none" });
    deepStrictEqual([files, none.rows], [undefined, 0]);
  },
});

/** Groups of an answer are of 100 rows, whatever the file's row groups are. */
const GROUPED: readonly (readonly [rowGroupRows: number, read: number, rows: number])[] = [
  [50, 6, 300],
  [100, 3, 300],
  [200, 2, 400],
  [300, 2, 400],
  [1_000, 1, 1_000],
];

Deno.test("groups of rows that indexes leave are read with all row groups that have some of them", async (t) => {
  for (const [rowGroupRowsMax, read, rows] of GROUPED) {
    await t.step(`row groups of ${rowGroupRowsMax} rows`, async () => {
      const indexes = new AskedIndexes();
      await using lab = await EngineLab.open({ engine: { indexes } });
      const written = Array.from({ length: 1_000 }, (_, i) => ({
        ns: START_NS + BigInt(i),
        raw: `row ${i}`,
      }));
      await lab.commit(written, { rowGroupRowsMax });
      indexes.answer = { kind: "groups", groups: Uint32Array.of(0, 1, 9), groupRows: 100 };
      const answer = await lab.query("SELECT raw FROM events WHERE contains(raw, 'row')");
      const found = new Set(answer.rows.flat());
      for (const i of [0, 99, 100, 199, 900, 999]) ok(found.has(`row ${i}`), `row ${i}`);
      const scan = answer.stats.scan;
      deepStrictEqual([scan?.row_groups_read, found.size], [read, rows]);
      strictEqual(
        (scan?.row_groups_read ?? 0) + (scan?.row_groups_pruned_bloom ?? 0),
        Math.ceil(1_000 / rowGroupRowsMax),
      );
    });
  }
});

Deno.test("rows that indexes leave of a file of ours are read without its footer, from the row groups that hold them", async () => {
  const indexes = new AskedIndexes();
  await using lab = await EngineLab.open({ engine: { indexes } });
  const rows = Array.from({ length: 30_000 }, (_, i) => ({
    ns: START_NS + BigInt(i),
    raw: `row ${i}`,
  }));
  // The first data file is made as they are now, the second as they were before.
  await lab.commit(rows);
  await lab.commit(rows, { rowGroupRowsMax: 65_536 });
  indexes.answer = { kind: "rows", rows: Uint32Array.of(5, 25_903) };
  const { stats, texts } = await lab.query("SELECT raw FROM events WHERE contains(raw, 'row')");
  deepStrictEqual(
    texts.toSorted(),
    [5, 25_903].flatMap((i) => [`["row ${i}"]`, `["row ${i}"]`]).toSorted(),
  );
  const { row_groups_considered, row_groups_read, row_groups_pruned_bloom } = stats.scan ?? {};
  deepStrictEqual([row_groups_considered, row_groups_read, row_groups_pruned_bloom], [3, 2, 1]);
});
