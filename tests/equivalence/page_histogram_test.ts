/**
 * The page Logs draws its histogram from summaries, with and without a search, and it is that of
 * the rows. Rows come as the page's user sends them: through the WAL, drained with columns for
 * their attributes, the last of them still in the WAL.
 */

import assert from "node:assert/strict";
import { INLINE_DERIVER } from "../../shared/derived/deriver.ts";
import { drainAll } from "../../shared/drain/drain_all.ts";
import { INLINE_PARQUET_ENCODER } from "../../shared/parquet/parquet_encoder.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { parseSearch } from "../../shared/search/parse_search.ts";
import { levelValue, searchCondition } from "../../shared/search/search_condition.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { openWalConsumerAdmin } from "../../shared/wal/admin.ts";
import { openWalReader } from "../../shared/wal/reader.ts";
import { histogramSql } from "../../web/logs/log_statements.ts";

const FIRST_MS = Date.parse("2026-09-21T14:00:00Z");
const LANE = { tenant: "default", index: "events" };
const TABLE = { columns: EVENTS_SCHEMA.columns, texts: ["raw"] };
const BIN_MS = 120_000;
const ROWS = 600;
const DRAINS = 3;
const LINES = ["login failed for #", "Login ok: #", "failed: retry #", "disk # is full"];

interface Row {
  readonly ms: number;
  readonly host: string;
  readonly level: string | null;
  readonly raw: string;
  readonly attributes: Readonly<Record<string, string | number>>;
}

/** Rows of four minutes. */
function makeRows(random: SeededRandom, batch: number, levels: Levels): readonly Row[] {
  const pick = <T>(of: readonly T[]): T => of[random.below(of.length)] as T;
  return Array.from({ length: ROWS }, () => {
    const { level, attributes } = levels(pick(["ERROR", "WARN", "INFO", "INFO"]), random);
    return {
      ms: FIRST_MS + batch * 180_000 + random.below(240_000),
      host: pick(["web-1", "web-2"]),
      raw: pick(LINES).replace("#", String(random.below(50))),
      ...{ level, attributes },
    };
  });
}

/** What rows of a level have for it, and how the page calls it. */
type Levels = (name: string, random: SeededRandom) => Pick<Row, "level" | "attributes">;

const NUMBERS: Readonly<Record<string, number>> = { INFO: 9, WARN: 13, ERROR: 17 };

const NAMED: Levels = (name) => ({
  level: name,
  attributes: { severity_text: name, severity_number: NUMBERS[name] ?? 0 },
});
/** Some rows have another name for the attribute, or the number alone. */
const MIXED: Levels = (name, random) => {
  const named = NAMED(name, random);
  if (random.chance(0.7)) return named;
  return random.chance(0.5)
    ? { level: name, attributes: { level: name } }
    : { level: null, attributes: { severity_number: NUMBERS[name] ?? 0 } };
};

/** `waiting`: levels of the rows in the WAL. */
async function openLab(
  levels: Levels,
  waiting: Levels = levels,
): Promise<{ lab: EngineLab; rows: readonly Row[] }> {
  const random = new SeededRandom(24);
  const lab = await EngineLab.open({ wal: true });
  const rows: Row[] = [];
  for (let batch = 0; batch <= DRAINS; batch += 1) {
    const own = makeRows(random, batch, batch < DRAINS ? levels : waiting);
    rows.push(...own);
    await lab.append(own.map(({ ms, host, raw, attributes }) => ({
      ns: BigInt(ms) * 1_000_000n,
      attributes: JSON.stringify(attributes),
      ...{ host, raw },
    })));
    if (batch < DRAINS) await drain(lab);
  }
  return { lab, rows };
}

async function drain({ store, catalog, clock, random, files, dir, wal }: EngineLab) {
  await wal?.seal(LANE);
  const totals = await drainAll({
    ...{ store, catalog, clock, random },
    wal: openWalReader(files, `${dir}/wal`),
    admin: openWalConsumerAdmin(files, clock, `${dir}/wal`),
    encoder: INLINE_PARQUET_ENCODER,
    deriver: INLINE_DERIVER,
    attributeColumnsMax: 64,
  });
  assert.deepEqual([totals.failures, totals.files], [[], 1]);
}

const WHOLE = { from: FIRST_MS, to: FIRST_MS + 3_600_000 };
const RANGES = [
  WHOLE,
  { from: FIRST_MS + 95_500, to: FIRST_MS + 700_250 },
];

function sqlOf(search: string, instants: typeof RANGES[number]): string {
  const condition = searchCondition(parseSearch(search), TABLE);
  return histogramSql({ table: "events", condition, instants }, {
    binMs: BIN_MS,
    level: levelValue(TABLE),
  });
}

async function histogramOf(lab: EngineLab, search: string, instants: typeof RANGES[number]) {
  const { rows, stats } = await lab.query(sqlOf(search, instants));
  return { cells: rows.map((row) => row.join(" ")).toSorted(), servedBy: stats.served_by };
}

/** From the rows themselves. */
function expectedOf(rows: readonly Row[], { from, to }: typeof RANGES[number]): readonly string[] {
  const cells = new Map<string, number>();
  for (const { ms, level } of rows.filter(({ ms }) => ms >= from && ms < to)) {
    const cell = `${Math.floor(ms / BIN_MS) * BIN_MS} ${level ?? ""}`;
    cells.set(cell, (cells.get(cell) ?? 0) + 1);
  }
  return [...cells].map(([cell, count]) => `${cell} ${count}`).toSorted();
}

const has = (...words: readonly string[]) => ({ raw }: Row) =>
  ` ${raw.toLowerCase().replaceAll(/\W+/g, " ")} `.includes(` ${words.join(" ")} `);
const isError = ({ level, attributes }: Row) =>
  level === "ERROR" || (level === null && attributes["severity_number"] === 17);
const isWarnOrError = (row: Row) =>
  isError(row) || row.level === "WARN" ||
  (row.level === null && row.attributes["severity_number"] === 13);

/** Searches, the rows that they find, and whether summaries count them. */
const SEARCHES: readonly (readonly [string, (row: Row) => boolean, boolean])[] = [
  ["", () => true, true],
  ["FAILED", has("failed"), true],
  ['"login failed"', has("login", "failed"), true],
  ["level:error", isError, true],
  ["failed level:error", (row) => has("failed")(row) && isError(row), true],
  ["failed -level:err", (row) => has("failed")(row) && !isError(row), true],
  ["level:>=warn login", (row) => has("login")(row) && isWarnOrError(row), true],
  ["failed 17", (row) => has("failed")(row) && has("17")(row), false],
  ["failed host:web-1", (row) => has("failed")(row) && row.host === "web-1", false],
  ["-failed", (row) => !has("failed")(row), false],
  [
    "failed host:web-1 level:error",
    (row) => has("failed")(row) && row.host === "web-1" && isError(row),
    false,
  ],
];

Deno.test("the histogram comes from summaries, also of a word, a phrase, and a level", async () => {
  const { lab, rows } = await openLab(NAMED);
  await using _lab = lab;
  for (const [search, finds, isCounted] of SEARCHES) {
    for (const instants of RANGES) {
      const { cells, servedBy } = await histogramOf(lab, search, instants);
      assert.deepEqual(cells, expectedOf(rows.filter(finds), instants), search);
      assert.equal(servedBy, isCounted ? "tier1_windowed_agg" : "scan", search);
    }
  }
});

for (const [where, levels] of [["they", MIXED], ["those of the WAL", NAMED]] as const) {
  Deno.test(`the histogram is that of the rows where ${where} name levels in several ways`, async () => {
    const { lab, rows } = await openLab(levels, MIXED);
    await using _lab = lab;
    for (const [search, finds] of SEARCHES) {
      for (const instants of RANGES) {
        const { cells } = await histogramOf(lab, search, instants);
        assert.deepEqual(cells, expectedOf(rows.filter(finds), instants), search);
      }
    }
  });
}

Deno.test("a histogram that is a scan reads attributes of those rows alone that need them", async () => {
  const attributesOf = async (lab: EngineLab) => {
    await using prepared = await lab.prepare(sqlOf("failed host:web-1", WHOLE));
    return (await prepared.explain()).split("\n").find((line) => line.includes("matter"));
  };
  const { lab: named } = await openLab(NAMED);
  await using _named = named;
  assert.equal(
    await attributesOf(named),
    "events: attributes matter to no row of 3 files, may matter to rows of 1 piece of the WAL",
  );
  const { lab: mixed } = await openLab(MIXED);
  await using _mixed = mixed;
  assert.equal(await attributesOf(mixed), undefined);
});

Deno.test("what cannot be spared keeps its columns of attributes", async () => {
  const { lab } = await openLab(NAMED);
  await using _lab = lab;
  const [number, text] = ["severity_number", "severity_text"]
    .map((name) => `attr_get(attributes, '${name}')`);
  // One expression is guarded by the number in the select list, and by the text in GROUP BY.
  const twice = `coalesce(${text}, attr_get(attributes, 'x'))`;
  const sql = `SELECT ${number}, coalesce(${number}, ${twice}), avg(length(raw)) FROM events ` +
    `GROUP BY ${number}, ${twice} ORDER BY 1`;
  await using prepared = await lab.prepare(sql);
  const plan = await prepared.explain();
  assert.equal(plan.includes("does not bind"), false, plan);
  assert.ok(plan.includes("attributes:severity_text"), plan);
  assert.equal((await lab.query(sql)).rows.length, 3);
});
