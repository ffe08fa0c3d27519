import assert from "node:assert/strict";
import { addColumns } from "../../iceberg/add_columns.ts";
import { memberOf } from "../../derived/text/row_words.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { fieldIdOf } from "../../schema/index_schema.ts";
import { wordsColumn, wordsColumns } from "../../schema/row_words.ts";
import type { Column, TableSchema } from "../../schema/schema.ts";
import { EngineLab, type LabEvent } from "../../testing/engine_lab.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";

const START_NS = 1_790_000_000_000_000_000n;
const ROWS = 2_200;
/** Statements by chance; `SVC_ROUNDS` for more, `SVC_SEED` for others. */
const ROUNDS = Number(Deno.env.get("SVC_ROUNDS") ?? 60);

/** Words that are in many rows, with others that are in none of them as they are sought. */
const FREQUENT = [
  "error",
  "Refused",
  "timeout",
  "größe",
  "世",
  "a_b",
  "É",
  "x",
  "कि",
  "\u26a0\ufe0f",
];
const NUMBERS = ["404", "v2", "7"];
const RARE = ["deadlock", "ökonom"];
/** Words in which parts stand, alone or beside a digit. */
const SPELLED = [
  "4ssh",
  "9Timeout",
  "Timeout",
  "TIMEOUT",
  "refused",
  "SSHd2",
  "sshd9",
  "Ossh",
  "bad_Request",
  "Größer",
];
/** What may be a part of them: not those of less than three letters, nor of digits alone. */
const PARTS = [
  "imeo",
  "Timeout",
  "fused",
  "REF",
  "ssh",
  "SSH",
  "quest",
  "Req",
  "größ",
  "dead",
  "er",
  "d_R",
  "zzz",
];
const BETWEEN = [" ", "  ", "-", ": ", "|", "\n", "/"];

class Texts {
  constructor(private readonly random: SeededRandom) {}

  pick<T>(from: readonly T[]): T {
    return from[this.random.below(from.length)] as T;
  }

  text(): string {
    const words = Array.from({ length: this.random.below(5) }, () => {
      if (this.random.chance(0.002)) return this.pick(RARE);
      if (this.random.chance(0.1)) return this.pick(SPELLED);
      const word = this.random.chance(0.2) ? this.pick(NUMBERS) : this.pick(FREQUENT);
      return this.random.chance(0.2) ? word.toUpperCase() : word;
    });
    const text = words.reduce((text, word) => text + (text && this.pick(BETWEEN)) + word, "");
    // Rows have numbers of their own, so that words are a small part of them.
    return `${text} ${String(this.random.below(1e9)).repeat(40)}`;
  }

  rows(count: number, fromNs: bigint): LabEvent[] {
    return Array.from({ length: count }, (_, n) => ({
      ns: fromNs + BigInt(n) * 300_000_000n,
      host: `h${this.random.below(3)}`,
      raw: this.text(),
      attributes: JSON.stringify({ took: this.random.below(50), level: this.pick(["a", "b"]) }),
    }));
  }

  /** A condition on `text`. */
  condition(text: string): string {
    if (this.random.chance(0.4)) return this.partCondition(text);
    const call = this.random.chance(0.1)
      ? this.pick(["match_prefix", "match_phrase"])
      : this.pick(["match_terms", "match_any", "match"]);
    const length = call === "match_phrase" ? 2 : 1 + this.random.below(3);
    const words = Array.from({ length }, () => {
      const all = this.random.chance(0.06) ? [...NUMBERS, ...RARE, "absent"] : FREQUENT;
      return this.pick(all).toLowerCase();
    });
    const not = this.random.chance(0.25) ? "NOT " : "";
    return `${not}${call}(${text}, '${words.join(this.pick(BETWEEN))}')`;
  }

  /** A condition that asks for a part of `text`. */
  partCondition(text: string): string {
    const part = this.pick(PARTS);
    return this.pick([
      `${text} LIKE '%${part}%'`,
      `${text} NOT LIKE '%${part}%'`,
      `${text} ILIKE '%${part}%'`,
      `${text} NOT ILIKE '%${part}%'`,
      `lower(${text}) LIKE '%${part.toLowerCase()}%'`,
      `lower(${text}) LIKE '%${part}%'`,
      `contains(${text}, '${part}')`,
      `contains(lower(${text}), '${part}')`,
      `${text} GLOB '*${part}*'`,
      `regexp_matches(${text}, '${part}')`,
      `regexp_matches(${text}, '(?i)${part}')`,
      `regexp_matches(${text}, '${this.pick(PARTS)}|${part}', 'i')`,
      `match_prefix(${text}, '${part}')`,
      `regexp_matches(lower(${text}), '${part}|${this.pick(PARTS)}')`,
      `NOT regexp_matches(${text}, '${part}|${this.pick(PARTS)}')`,
      `${text} LIKE '${part}%'`,
    ]);
  }
}

/** The statement with conditions on `raw`, and on a text that no column tells of. */
function statement(texts: Texts, qualifier = ""): readonly [string, string] {
  const raw = `${qualifier}raw`;
  const conditions = Array.from({ length: 3 }, () => texts.condition("§"));
  const [one, two, three] = conditions;
  const sql = texts.pick([
    `SELECT count(*) FROM events WHERE ${one} AND host <> 'h1' AND attr_get(attributes, 'level') = 'a'`,
    `SELECT host, count(*), avg(attr_get(attributes, 'took')::DOUBLE) FROM events WHERE ${one} OR ${two} GROUP BY 1 ORDER BY 1`,
    `SELECT host, ${one} AS w, count(*) FILTER (WHERE ${two}) FROM events WHERE ${three} GROUP BY host, w ORDER BY 1, 2`,
    `SELECT e.host, count(*) FROM events e JOIN (SELECT DISTINCT host FROM events WHERE ${one}) h ON e.host = h.host GROUP BY 1 ORDER BY 1`,
    `SELECT sum(CASE WHEN ${one} THEN 1 WHEN ${two} THEN 10 ELSE 100 END)::BIGINT FROM events`,
    `WITH w AS (SELECT host, timestamp FROM events WHERE ${one}) SELECT host, max(timestamp) FROM w GROUP BY 1 ORDER BY 1`,
    `SELECT count(*) FROM events WHERE (${one}) IS NOT DISTINCT FROM (${two})`,
    `SELECT host, timestamp FROM events WHERE ${one} AND ${two} ORDER BY timestamp_ns, host LIMIT 30`,
    `SELECT host, raw FROM events WHERE ${one} ORDER BY timestamp_ns LIMIT 20`,
    `SELECT count(DISTINCT host) FROM events WHERE host IN (SELECT host FROM events WHERE ${one} GROUP BY host HAVING count(*) > 5) AND ${two}`,
    `SELECT ${one}, count(*) FROM events GROUP BY ${one} ORDER BY 1`,
  ]);
  return [sql.replaceAll("§", raw), sql.replaceAll("§", `(${raw} || '')`)];
}

async function answers(lab: EngineLab, [told, sought]: readonly [string, string]): Promise<void> {
  const own = await lab.query(told, { fastPaths: false });
  const other = await lab.query(sought, { fastPaths: false });
  assert.deepEqual(own.texts, other.texts, told);
  assert.deepEqual(own.types, other.types, told);
}

Deno.test("words that rows tell of are found as in their texts, over files with and without, and the WAL", async () => {
  const random = new SeededRandom(Number(Deno.env.get("SVC_SEED") ?? 41));
  const texts = new Texts(random);
  await using lab = await EngineLab.open({ wal: true });
  await lab.commit(texts.rows(ROWS, START_NS), { derived: true });
  await lab.commit(texts.rows(ROWS, START_NS + 40_000_000_000n), { derived: false });
  await lab.commit(texts.rows(ROWS, START_NS + 90_000_000_000n), {
    derived: true,
    rowGroupRowsMax: 600,
  });
  // In this file some words are rare, and in the next none is frequent.
  const few = texts.rows(ROWS, START_NS + 200_000_000_000n)
    .map((row, n) => n % 400 === 0 ? row : { ...row, raw: "timeout x" });
  await lab.commit(few, { derived: true });
  await lab.commit(few.map((row) => ({ ...row, raw: "7" })), { derived: true });
  await lab.append(texts.rows(300, START_NS + 300_000_000_000n));
  let told = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const both = statement(texts);
    await answers(lab, both);
    if (await toldOf(lab, both[0]) !== undefined) told += 1;
  }
  assert(told > ROUNDS / 4, `${told} of ${ROUNDS} statements used what rows tell`);
});

/** What EXPLAIN says of words; undefined: nothing. */
async function toldOf(lab: EngineLab, sql: string): Promise<string | undefined> {
  await using prepared = await lab.prepare(sql);
  return (await prepared.explain()).split("\n").find((line) => line.includes("words of raw"));
}

const LEVELS = "SELECT host, avg(length(sourcetype)) FROM events WHERE";

Deno.test("a statement that wants words alone reads no text", async () => {
  const texts = new Texts(new SeededRandom(5));
  await using lab = await EngineLab.open({ wal: true });
  await lab.commit(texts.rows(ROWS, START_NS), { derived: true });
  const told = (condition: string) => toldOf(lab, `${LEVELS} ${condition} GROUP BY 1`);
  for (
    const condition of [
      "match_terms(raw, 'Error')",
      "match_terms(raw, 'error') AND NOT match_any(raw, 'timeout x')",
      "match_phrase(events.raw, 'error timeout') OR match_phrase(raw, 'x')",
      "match_any(raw, 'error absent')",
    ]
  ) {
    assert.equal(
      await told(condition),
      "events: words of raw are told by rows of 1 file",
      condition,
    );
  }
  for (
    const condition of [
      "match_terms(raw, 'v2')",
      "match_phrase(raw, 'error absent')",
      "match_prefix(raw, 'er')",
      "match_phrase(raw, 'error error error')",
      "match_terms(raw, 'error') AND length(raw) > 3",
      "match_terms(raw, 'error') AND match_terms(raw || '', 'timeout')",
    ]
  ) assert.equal(await told(condition), undefined, condition);
  assert.equal(
    await toldOf(lab, "SELECT * FROM events WHERE match_terms(raw, 'error')"),
    undefined,
  );
  await lab.commit(texts.rows(ROWS, START_NS + 900_000_000_000n));
  await lab.append(texts.rows(9, START_NS));
  assert.equal(
    await told("match_terms(raw, 'error')"),
    "events: words of raw are told by rows of 1 file, looked for in texts of 1 file and " +
      "1 piece of the WAL",
  );
});

Deno.test("an inner query with the table's name, or a limit without an order, has texts read, and an alias is itself", async () => {
  const texts = new Texts(new SeededRandom(7));
  await using lab = await EngineLab.open();
  await lab.commit(texts.rows(ROWS, START_NS), { derived: true });
  const hidden = "SELECT count(*) FROM events e WHERE EXISTS (SELECT 1 FROM " +
    "(SELECT false AS \"spared:1\") e WHERE match_terms(§, 'error'))";
  for (const sql of [hidden, "SELECT host FROM events WHERE match_terms(§, 'error') LIMIT 3"]) {
    const told = sql.replace("§", "raw");
    assert.equal(await toldOf(lab, told), undefined, told);
    assert.equal((await lab.query(told)).texts.length, sql === hidden ? 1 : 3);
  }
  await answers(lab, [hidden.replace("§", "raw"), hidden.replace("§", "(raw || '')")]);
  // DuckDB takes the column where an alias has its name.
  const alias = 'SELECT host AS "Spared:1", count(*), avg(length(sourcetype)) FROM events ' +
    "WHERE match_terms(§, 'error') AND \"spared:1\" IN ('true', 'h1') GROUP BY ALL";
  assert.notEqual(await toldOf(lab, alias.replace("§", "raw")), undefined);
  await answers(lab, [alias.replace("§", "raw"), alias.replace("§", "(raw || '')")]);
  const twice = "SELECT DISTINCT match_terms(raw, 'error'), length(sourcetype) FROM events " +
    "ORDER BY match_terms(raw, 'error')";
  assert.notEqual(await toldOf(lab, twice), undefined);
  assert.deepEqual((await lab.query(twice)).texts, ["[false,1]", "[true,1]"]);
});

Deno.test("texts whose columns of words would be one, or a column of the table, have none", () => {
  // Two names of a field whose ids differ by the span of such ids.
  const [a, b] = [text("msg_body934"), text("res_message600")];
  assert.equal(wordsColumn(a).id, wordsColumn(b).id);
  assert.deepEqual([...wordsColumns([a, b], [a, b]).keys()], [a]);
  const [raw, other] = [text("raw"), text("WORDS:raw")];
  assert.deepEqual([...wordsColumns([raw], [raw, other]).keys()], []);
  assert.deepEqual([...wordsColumns([raw], [raw]).values()], [wordsColumn(raw)]);
});

function text(name: string): Column {
  return { id: fieldIdOf(name), name, type: "string", required: false };
}

Deno.test("a table with a column called as that of the words of a text has texts read", async () => {
  const texts = new Texts(new SeededRandom(8));
  await using lab = await EngineLab.open();
  const ident = { namespace: "svc", name: "events" };
  const commit = (schema: TableSchema, fromNs: bigint) =>
    lab.commitRows(
      texts.rows(ROWS, fromNs).map(({ ns, host = "", raw = "" }) => ({
        ...{ timestamp: ns / 1_000n, timestamp_ns: ns, host, raw, source: "s" },
        ...{ sourcetype: "t", index: "main", attributes: null, "words:raw": "mine" },
      })),
      { ident, schema, derived: true },
    );
  await commit(EVENTS_SCHEMA, START_NS);
  const sql = (raw: string) => `${LEVELS} match_terms(${raw}, 'error') GROUP BY 1 ORDER BY 1`;
  assert.notEqual(await toldOf(lab, sql("raw")), undefined);
  const column = text("words:raw");
  const wider = { ...EVENTS_SCHEMA, columns: [...EVENTS_SCHEMA.columns, column] };
  await addColumns(lab, ident, wider);
  await commit(wider, START_NS + 900_000_000_000n);
  await answers(lab, [sql("raw"), sql("(raw || '')")]);
  assert.equal(await toldOf(lab, sql("raw")), undefined);
});

Deno.test("without its sidecar a file has words looked for in its texts", async () => {
  const texts = new Texts(new SeededRandom(6));
  await using lab = await EngineLab.open();
  await lab.commit(texts.rows(ROWS, START_NS), { derived: true });
  const sql = `${LEVELS} match_terms(raw, 'error') GROUP BY 1 ORDER BY 1`;
  const before = await lab.query(sql);
  assert.match(await toldOf(lab, sql) ?? "", /1 file$/);
  const sidecars: string[] = [];
  for await (const { key } of lab.store.list("")) {
    if (key.endsWith(".puffin")) sidecars.push(key);
  }
  assert.equal(sidecars.length, 1);
  await lab.store.delete(sidecars);
  await lab.restartEngine();
  assert.equal(await toldOf(lab, sql), undefined);
  assert.deepEqual((await lab.query(sql)).texts, before.texts);
});

Deno.test("the column of words has an id and a name that no column of a table has", () => {
  const { id, name, type, required } = wordsColumn({ id: 2 ** 30 + 999, name: "raw" });
  assert(id > 2 ** 30 + 1_000 && id < 2_147_483_447, `${id}`);
  assert.deepEqual({ name, type, required }, {
    name: "words:raw",
    type: "string",
    required: false,
  });
});

Deno.test("words are told as they are, whatever hash they have and however marks join their letters", async () => {
  await using lab = await EngineLab.open();
  const lines = ["login refused by host", "wetaa of ipks", "error AB\u03aa\u0301", "H\u0331error"];
  const rows = (from: number) =>
    Array.from({ length: ROWS }, (_, n) => ({
      ns: START_NS + BigInt(from + n),
      raw: `${lines[n % lines.length]} ${String(n).repeat(30)}`,
    }));
  await lab.commit(rows(0), { derived: true });
  await lab.commit(rows(ROWS), { derived: false });
  const pairs = [["ipks", "wetaa"], ["refused", "by"]].map((words) => memberOf(words).text);
  assert.equal(pairs[0], pairs[1]);
  for (
    const [condition, share] of [
      ["match_phrase(§, 'ipks wetaa')", 0],
      ["match_phrase(§, 'refused by')", 1 / 4],
      ["match_terms(§, 'AB\u03aa\u0301')", 1 / 4],
      ["match_terms(§, 'H\u0331error')", 1 / 4],
      ["match_terms(§, 'error')", 1 / 4],
    ] as const
  ) {
    const sql = (text: string) =>
      `SELECT count(*), count(DISTINCT host), max(length(sourcetype)) FROM events WHERE ${
        condition.replace("§", text)
      }`;
    await answers(lab, [sql("raw"), sql("(raw || '')")]);
    const [count] = JSON.parse((await lab.query(sql("raw"))).texts[0] ?? "");
    assert.equal(count, 2 * ROWS * share, condition);
    const { texts } = await lab.query(
      `SELECT count(*) FROM events WHERE ${condition.replace("§", "raw")}`,
    );
    assert.deepEqual(texts, [`[${2 * ROWS * share}]`], condition);
  }
});

Deno.test("an expression that ignores case finds what a text is in lower case, also beside a file that tells", async () => {
  await using lab = await EngineLab.open();
  const rows = (raw: string, from: number) =>
    Array.from({ length: ROWS }, (_, n) => ({
      ns: START_NS + BigInt(from + n),
      raw: `${raw} ${String(n).repeat(30)}`,
    }));
  await lab.commit(rows("a Timeout", 0), { derived: true });
  await lab.commit(rows("TİMEOUT", ROWS), { derived: false });
  const sql = (text: string) =>
    `SELECT count(*), max(length(sourcetype)) FROM events WHERE regexp_matches(${text}, '(?i)timeout')`;
  await answers(lab, [sql("raw"), sql("(raw || '')")]);
  await answers(lab, [sql("lower(raw)"), sql("lower(raw || '')")]);
});

Deno.test("a file with a long s tells of frequent words alone", async () => {
  await using lab = await EngineLab.open();
  await lab.commit(
    Array.from({ length: ROWS }, (_, n) => ({
      ns: START_NS + BigInt(n),
      raw: n === 5 ? "reſet" : "a Timeout",
    })),
    { derived: true },
  );
  const sql = (text: string) => `${LEVELS} regexp_matches(${text}, '(?i)reset') GROUP BY 1`;
  assert.equal(await toldOf(lab, sql("raw")), undefined);
  await answers(lab, [sql("raw"), sql("(raw || '')")]);
  assert.equal((await lab.query(sql("raw"))).texts.length, 1);
  assert.equal(await toldOf(lab, `${LEVELS} raw LIKE '%imeou%' GROUP BY 1`), undefined);
  assert.match(
    await toldOf(lab, `${LEVELS} match_terms(raw, 'timeout') GROUP BY 1`) ?? "",
    /1 file$/,
  );
});

Deno.test("parts of words are told of all words that a file has, as they are written", async () => {
  const lines = [
    "Authentication failed for root",
    "authentication failure",
    "sshd2: FAILED by 0xfeedface",
    "bad_Request of größenOrdnung",
    null,
  ];
  await using lab = await EngineLab.open();
  await lab.commit(
    Array.from({ length: ROWS }, (_, n) => ({
      ns: START_NS + BigInt(n),
      raw: (lines[n % lines.length] ?? "") + (n === 7 ? " once Deadlocked" : ""),
    })),
    { derived: true },
  );
  const counts = new Map<string, number>();
  for (
    const condition of [
      "raw LIKE '%henticat%'",
      "raw LIKE '%Authenticat%'",
      "raw ILIKE '%AUTHENTICAT%'",
      "raw NOT LIKE '%fail%'",
      "contains(raw, 'FAIL')",
      "raw LIKE '%ssh%'",
      "lower(raw) LIKE '%request%'",
      "regexp_matches(raw, 'nOrd')",
      "regexp_matches(raw, 'sshd|FAILED')",
      "regexp_matches(raw, '(?i)sshd|failed')",
      "match_prefix(raw, 'ssh')",
      "raw ILIKE '%deadlock%'",
      "raw LIKE '%adlo%'",
    ]
  ) {
    const sql = (text: string) =>
      `SELECT count(*), count(DISTINCT host), max(length(sourcetype)) FROM events WHERE ${
        condition.replace("raw", text)
      }`;
    assert.match(await toldOf(lab, sql("raw")) ?? "", /by rows of 1 file$/, condition);
    await answers(lab, [sql("raw"), sql("(raw || '')")]);
    counts.set(condition, JSON.parse((await lab.query(sql("raw"))).texts[0] ?? "")[0]);
  }
  assert.equal(counts.get("raw LIKE '%Authenticat%'"), ROWS / 5);
  assert.equal(counts.get("raw ILIKE '%deadlock%'"), 1);
  for (
    const condition of [
      "raw LIKE '%feed%'",
      "raw LIKE '%authentication failure%'",
      "raw LIKE '%by%'",
      "raw LIKE 'Authentication%'",
      "regexp_matches(raw, 'sshd', 's')",
      "regexp_matches(lower(raw), '(?i)sshd')",
      "raw LIKE '%failed%' AND raw LIKE '%for root%'",
      "raw LIKE '%failed%' COLLATE NOCASE",
    ]
  ) assert.equal(await toldOf(lab, `${LEVELS} ${condition} GROUP BY 1`), undefined, condition);
});
