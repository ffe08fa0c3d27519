/**
 * Fast paths give the rows of a scan. Statements come from a seed, over a table that is appended
 * to, drained, altered, merged and cut down meanwhile, whose sidecars are sometimes missing or
 * damaged. Each is asked twice at one state, with fast paths and without. The engine is the same
 * all the way, so its warm answers must follow the table.
 *
 * `SVC_TEST_SEED` and `SVC_FAST_PATH_SEEDS` ask for other seeds, and more of them.
 */

import assert from "node:assert/strict";
import { encodeBatch } from "../../shared/columns/ipc.ts";
import { batchOfRows, type RowObject, rowsOf } from "../../shared/columns/rows.ts";
import { type Deriver, INLINE_DERIVER, inlineDeriver } from "../../shared/derived/deriver.ts";
import { sidecarKey } from "../../shared/derived/sidecar.ts";
import type { TableSchema } from "../../shared/schema/schema.ts";
import { commitRewrite } from "../../shared/iceberg/commit_rewrite.ts";
import { ensureTable } from "../../shared/iceberg/commit_append.ts";
import { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import type { DataFile } from "../../shared/iceberg/types.ts";
import { DataFileWriter } from "../../shared/tables/data_file_writer.ts";
import { drainAll } from "../../shared/drain/drain_all.ts";
import { sweepRollups } from "../../shared/upkeep/rollup_sweep.ts";
import { INLINE_PARQUET_ENCODER } from "../../shared/parquet/parquet_encoder.ts";
import { readParquet } from "../../shared/parquet/read_parquet.ts";
import { EngineLab, type LabAnswer } from "../../shared/testing/engine_lab.ts";
import { RemoteStore } from "../../shared/testing/remote_store.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { openWalConsumerAdmin } from "../../shared/wal/admin.ts";
import { openWalReader } from "../../shared/wal/reader.ts";
import { makeStatement, makeWordStatement } from "./fast_path_statements.ts";
import { addColumns, drain } from "./sql_lab.ts";

const FIRST_SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 7_009);
const SEEDS = Number(Deno.env.get("SVC_FAST_PATH_SEEDS") ?? 4);
const STEPS = 12;
const STATEMENTS_A_STEP = 9;
const WORD_STATEMENTS_A_STEP = 6;

const SCHEMA: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true },
    { id: 2, name: "timestamp_ns", type: "long", required: true },
    { id: 3, name: "name", type: "string", required: true },
    { id: 4, name: "value", type: "double", required: false },
    { id: 5, name: "hits", type: "long", required: false },
    { id: 6, name: "code", type: "int", required: false },
    { id: 7, name: "took", type: "long", required: true },
    { id: 8, name: "even", type: "double", required: false },
    { id: 9, name: "raw", type: "string", required: false },
    { id: 12, name: "level", type: "string", required: false },
  ],
  tags: ["name", "level", "region"],
};
const LATER: TableSchema = {
  columns: [
    ...SCHEMA.columns,
    { id: 10, name: "region", type: "string", required: false },
    { id: 11, name: "ok", type: "bool", required: false },
  ],
  tags: SCHEMA.tags,
};

const LINES = [
  "row #",
  "row # of #",
  "Login failed: user #",
  "LOGIN_ failed, login FAILED #",
  "failed login\tfailed login",
  "login – failed",
  "été # 日本 row",
  "",
];

const LEVELS = ["INFO", "ERROR", "WARN", null];

const FEW_ROWS = { rowsMax: 60, minutes: 10, late: 0.05 };
const MANY_ROWS = { rowsMax: 800, minutes: 3, late: 0 };

const FIRST_NS = 1_790_000_000_000_000_000n; // 2026-09-21T14:13:20Z
const SPAN = { firstNs: FIRST_NS, lastNs: FIRST_NS + 3n * 86_400_000_000_000n };
const LANE = { tenant: "default", index: "metrics" };
const IDENT = { namespace: "svc", name: "metrics" };

/** One table and what is done to it. */
class Table {
  /** Times of the rows that were appended. */
  readonly instantsNs: bigint[] = [];
  #schema = SCHEMA;

  constructor(
    readonly lab: EngineLab,
    readonly random: SeededRandom,
    readonly deriver: Deriver,
  ) {}

  /** What every table goes through, in this order; then anything may happen. */
  readonly #beginnings = [
    ["empty", async () => {
      const { store, catalog, clock, random } = this.lab;
      await ensureTable({ store, catalog, clock, random }, { ident: IDENT, schema: SCHEMA });
    }],
    ["WAL only", () => this.#append()],
    ["drained and altered", async () => {
      await this.lab.wal?.seal(LANE);
      await this.#drain();
      // Files written before lack the last columns.
      await addColumns(this.lab, LATER);
    }],
  ] as const;
  #steps = 0;

  async step(): Promise<string> {
    const beginning = this.#beginnings[this.#steps];
    this.#steps += 1;
    if (beginning === undefined) return await this.#laterStep();
    const [name, begin] = beginning;
    await begin();
    return name;
  }

  async #laterStep(): Promise<string> {
    const kind = this.#pick(
      [
        "append",
        "append",
        "drain",
        "drain",
        "drain",
        "plain drain",
        "merge",
        "cut",
        "cut all",
        "retain",
        "damage",
        "learn",
        "roll up",
        "roll up",
      ] as const,
    );
    if (kind === "append") await this.#append();
    if (kind === "drain" || kind === "plain drain") {
      if (this.random.chance(0.7)) await this.#append();
      await this.lab.wal?.seal(LANE);
      await this.#drain(kind === "drain");
      if (this.random.chance(0.3)) await this.#append();
    }
    if (kind === "merge" || kind === "cut") await this.#rewrite(kind);
    if (kind === "cut all") await this.#remove(() => true);
    if (kind === "retain") await this.#retain();
    if (kind === "damage") await this.#damage();
    if (kind === "roll up") await this.#rollUp();
    if (kind === "learn") this.#schema = LATER;
    return kind;
  }

  async #append(): Promise<void> {
    const schema = this.#schema;
    const base = SPAN.firstNs + BigInt(this.random.below(3)) * 86_400_000_000_000n +
      BigInt(this.random.below(36)) * 600_000_000_000n;
    // In many rows of few minutes more words are counted by minute and value.
    const spread = this.#pick([FEW_ROWS, MANY_ROWS, MANY_ROWS]);
    const levels = this.#pick([LEVELS, LEVELS, LEVELS.slice(0, 3), []]);
    const rows = Array.from(
      { length: 1 + this.random.below(spread.rowsMax) },
      () => ({
        ...this.#row(base, { later: schema === LATER, spread }),
        level: levels.length === 0 ? null : this.#pick(levels),
      }),
    );
    await this.lab.wal?.append(LANE, encodeBatch(batchOfRows(schema, rows)), "auto");
  }

  #row(
    base: bigint,
    { later, spread }: { readonly later: boolean; readonly spread: typeof FEW_ROWS },
  ): RowObject {
    const { random } = this;
    const maybe = <T>(value: T) => random.below(5) === 0 ? null : value;
    // Few distinct instants, some late, and some at the edges of minutes and of the day.
    const ns = base + BigInt(random.below(4 * spread.minutes)) * 15_000_000_000n +
      BigInt(random.below(3)) * 400n +
      (random.chance(spread.late) ? -20_000_000_000_000n : 0n);
    this.instantsNs.push(ns);
    return {
      timestamp: ns / 1_000n,
      timestamp_ns: ns,
      name: this.#pick(["cpu", "mem", "disk", "", "net", "日本", "o'neil", "nul\0"]),
      value: maybe(this.#pick([0.1, 0.5, -3.75, NaN, Infinity, 1e300, -0, 0])),
      hits: maybe(
        this.#pick([0n, 1n, -7n, 9_007_199_254_740_993n, -(2n ** 63n), 2n ** 63n - 1n, 42n]),
      ),
      code: maybe(this.#pick([200, 404, 500, -2_147_483_648, 7])),
      took: BigInt(random.below(1_000)),
      even: maybe(this.#pick([1, 2.5, -0.125, 1024])),
      raw: maybe(this.#pick(LINES).replaceAll("#", () => String(random.below(100)))),
      ...(later
        ? { region: maybe(this.#pick(["eu", "us", ""])), ok: maybe(random.chance(0.5)) }
        : {}),
    };
  }

  async #drain(derived = true): Promise<void> {
    const { store, catalog, clock, random, files, dir } = this.lab;
    const root = `${dir}/wal`;
    const totals = await drainAll({
      ...{ store, catalog, clock, random },
      wal: openWalReader(files, root),
      admin: openWalConsumerAdmin(files, clock, root),
      encoder: INLINE_PARQUET_ENCODER,
      ...(derived ? { deriver: this.deriver } : {}),
    });
    assert.deepEqual(totals.failures, []);
  }

  async #files() {
    const reader = new IcebergReader(this.lab.store);
    const location = await this.lab.catalog.metadataLocation(IDENT);
    assert(location !== undefined);
    const table = await reader.loadTable(IDENT, location);
    const { files } = await reader.selectFiles(table);
    return { table, files };
  }

  /** Some files become one a day; of a cut, without some of their rows. */
  async #rewrite(kind: "merge" | "cut"): Promise<void> {
    const { store, catalog, clock, random } = this.lab;
    const { table, files } = await this.#files();
    const replaced = files.filter(() => this.random.chance(0.5));
    if (replaced.length === 0) return;
    const rows = (await Promise.all(replaced.map((file) => this.#rowsOf(file)))).flat();
    const kept = kind === "merge" ? rows : rows.slice(1).filter(() => this.random.chance(0.8));
    const writer = new DataFileWriter(
      { store, random, encoder: INLINE_PARQUET_ENCODER, deriver: this.deriver },
      table,
      // An index of words, and with it counts of columns with many values: a merge writes both.
      { text: [{ name: "raw", tokenizer: "default" }] },
    );
    await writer.add(batchOfRows(table.schema, kept));
    const { outcome } = await commitRewrite({ store, catalog, clock, random }, {
      ident: IDENT,
      tableUuid: table.uuid,
      kind: kind === "merge" ? "merge" : "delete",
      replaced,
      files: await writer.finish(),
    });
    assert.equal(outcome, "committed");
  }

  /** The days before one of them go. */
  async #retain(): Promise<void> {
    const { files } = await this.#files();
    const days = [...new Set(files.map(({ day }) => day))].sort((a, b) => a - b);
    const first = days.length === 0 ? 0 : this.#pick(days);
    await this.#remove(({ day }) => day < first);
  }

  /** Whole files go, and nothing comes in their place. */
  async #remove(isGone: (file: DataFile) => boolean): Promise<void> {
    const { store, catalog, clock, random } = this.lab;
    const { table, files } = await this.#files();
    const replaced = files.filter(isGone);
    if (replaced.length === 0) return;
    const { outcome } = await commitRewrite({ store, catalog, clock, random }, {
      ...{ ident: IDENT, tableUuid: table.uuid, kind: "delete", replaced, files: [] },
    });
    assert.equal(outcome, "committed");
  }

  async #rowsOf(file: DataFile): Promise<RowObject[]> {
    const rows: RowObject[] = [];
    for await (const batch of readParquet(await this.lab.store.get(file.key), file.key)) {
      rows.push(...rowsOf(batch));
    }
    return rows;
  }

  /** Sums of days are made, of two files and more; sometimes a server begins with them. */
  async #rollUp(): Promise<void> {
    await sweepRollups(this.lab, await this.#files(), { filesMin: 2 });
    if (this.random.chance(0.7)) await this.lab.restartEngine();
  }

  /** A sidecar or a sum of a day is removed, cut short, changed, or another's. */
  async #damage(): Promise<void> {
    const { store } = this.lab;
    const { table, files } = await this.#files();
    const rollups = (await Array.fromAsync(store.list(`${table.locationKey}/rollups/`)))
      .map(({ key }) => key);
    const keys = [...files.map(({ key }) => sidecarKey(key)), ...rollups];
    const key = this.#pick(this.random.chance(0.5) && rollups.length > 0 ? rollups : keys);
    if (this.random.chance(0.5)) await this.lab.restartEngine();
    let bytes: Uint8Array;
    try {
      bytes = await store.get(key);
    } catch {
      return;
    }
    await store.delete([key]);
    const change = this.#pick(["gone", "cut", "changed", "other"] as const);
    if (change === "gone") return;
    const other = await store.get(this.#pick(keys)).catch(() => undefined);
    const flipped = bytes.slice();
    for (let i = 0; i < 20; i += 1) {
      const at = this.random.below(flipped.length);
      flipped[at] = (flipped[at] as number) ^ (1 << this.random.below(8));
    }
    const changed = {
      cut: bytes.subarray(0, this.random.below(bytes.length)),
      changed: flipped,
      other,
    };
    const next = changed[change];
    if (next !== undefined) await store.putNew(key, next);
  }

  #pick<T>(values: readonly T[]): T {
    return values[this.random.below(values.length)] as T;
  }
}

/**
 * In the statement's order, or in one of ours where it leaves the order open. -0 and 0 are one
 * group.
 */
function arranged({ texts }: LabAnswer, sql: string): readonly string[] {
  const rows = texts.map((text) => text.replaceAll(/(?<![\d.])-0\.0(?![\d])/g, "0.0"));
  return sql.includes(" ORDER BY ") && !sql.includes("ORDER BY name,") ? rows : rows.toSorted();
}

const served = new Map<string, number>();
let countedInMemory = 0;

for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
  Deno.test(`fast paths give the rows of a scan, seed ${seed}`, async () => {
    const random = new SeededRandom(seed);
    // Every third time the warehouse is elsewhere, and of data files only what is planned is
    // brought.
    const isRemote = seed % 3 === 0;
    await using lab = await EngineLab.open({
      wal: true,
      ...(isRemote ? { store: new RemoteStore() } : {}),
    });
    // Every other time few values are many: most columns are counted beside the summary.
    const deriver = seed % 2 === 0 ? inlineDeriver({ groupValuesMax: 3 }) : INLINE_DERIVER;
    const table = new Table(lab, random, deriver);
    const steps: string[] = [];
    for (let step = 0; step < STEPS; step += 1) {
      steps.push(await table.step());
      const span = { ...SPAN, instantsNs: table.instantsNs };
      for (let i = 0; i < STATEMENTS_A_STEP + WORD_STATEMENTS_A_STEP; i += 1) {
        const sql = i < STATEMENTS_A_STEP
          ? makeStatement(random, span)
          : makeWordStatement(random, span);
        await askBoth(lab, sql, `seed ${seed}, after ${steps.join(", ")}: ${sql}`);
      }
      if (table.instantsNs.length > 0) {
        const sql = countStatement(random, table.instantsNs);
        await askAgain(lab, sql, `seed ${seed}, after ${steps.join(", ")}: ${sql}`);
      }
    }
  });
}

Deno.test("counts of words by a column of two are right where files lack the other one", async () => {
  await using lab = await EngineLab.open({ wal: true });
  await ensureTable(lab, { ident: IDENT, schema: SCHEMA });
  const rows = Array.from({ length: 2_000 }, (_, at) => ({
    ...{ timestamp: FIRST_NS / 1_000n + BigInt(at), timestamp_ns: FIRST_NS + BigInt(at) * 1_000n },
    ...{ name: at % 2 === 0 ? "cpu" : "mem", level: at % 3 === 0 ? "INFO" : "ERROR" },
    ...{
      hits: BigInt(at % 2),
      code: at % 5,
      took: BigInt(at),
      value: 1,
      even: 1,
      raw: `row ${at}`,
    },
  }));
  await lab.wal?.append(LANE, encodeBatch(batchOfRows(SCHEMA, rows)), "auto");
  await lab.wal?.seal(LANE);
  await drain(lab);
  await addColumns(lab, LATER);
  for (const columns of ["name, region", "level, region", "code, region", "hits, ok"]) {
    const [column = "", lacked = ""] = columns.split(", ");
    for (const asked of [columns, column]) {
      const sql = `SELECT ${asked}, count(*) FROM metrics WHERE match_terms(raw, 'row') ` +
        `AND ${lacked} IS NULL GROUP BY ALL`;
      assert.equal(await pathOf(lab, sql), "tier1_inline", sql);
      await askBoth(lab, sql, sql);
    }
  }
});

/** Asks a statement that a fast path answers by it and by a scan. */
async function askBoth(lab: EngineLab, sql: string, told: string): Promise<void> {
  const path = await pathOf(lab, sql);
  served.set(path, (served.get(path) ?? 0) + 1);
  if (path.startsWith("scan") || path === "refused") return;
  const isOfWords = sql.includes("match_");
  for (const column of isOfWords ? ["", "level", "name", "hits", "code"] : []) {
    const kind = `words ${column}`;
    if (sql.includes(column)) served.set(kind, (served.get(kind) ?? 0) + 1);
  }
  const fast = await orReason(lab.query(sql), told);
  const scanned = await orReason(lab.query(sql, { fastPaths: false }), told);
  if (typeof fast === "string" || typeof scanned === "string") {
    assert.equal(fast, scanned, told);
    return;
  }
  assert.equal(scanned.stats.served_by, "scan");
  assert.deepEqual(fast.columns, scanned.columns, told);
  assert.deepEqual(fast.types, scanned.types, told);
  assert.deepEqual(arranged(fast, sql), arranged(scanned, sql), told);
}

/** Rows, or rows by minute, of a range whose ends cut through minutes that have some. */
function countStatement(random: SeededRandom, instantsNs: readonly bigint[]): string {
  const near = () =>
    (instantsNs[random.below(instantsNs.length)] ?? 0n) / 1_000n +
    BigInt(random.below(41) - 20) * 1_000_000n + BigInt(random.below(3) - 1);
  const [one, other] = [near(), near()];
  const [first, last] = one < other ? [one, other] : [other, one];
  const where = `timestamp >= make_timestamptz(${first}) AND timestamp ${
    random.chance(0.5) ? "<" : "<="
  } make_timestamptz(${last})`;
  return random.chance(0.5)
    ? `SELECT count(*) FROM metrics WHERE ${where}`
    : `SELECT date_trunc('minute', timestamp), count(*) FROM metrics WHERE ${where} ` +
      "GROUP BY 1 ORDER BY 1";
}

/**
 * What a statement misses is read behind it: asked again it reads fewer rows, and its answer is the
 * scan's still.
 */
async function askAgain(lab: EngineLab, sql: string, told: string): Promise<void> {
  const scanned = await lab.query(sql, { fastPaths: false });
  let rowsRead: number | undefined;
  for (let asked = 0; asked < 5; asked += 1) {
    const { texts, stats } = await lab.query(sql);
    assert.deepEqual(texts, scanned.texts, told);
    if (stats.served_by !== "tier1_windowed_agg") return;
    rowsRead ??= stats.rows_scanned;
    if (stats.rows_scanned < rowsRead) {
      countedInMemory += 1;
      return;
    }
    if (rowsRead === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Which path would answer; `scan` with its reason; `refused` before the table has the columns. */
async function pathOf(lab: EngineLab, sql: string): Promise<string> {
  try {
    await using prepared = await lab.prepare(sql);
    return prepared.aside === undefined ? prepared.servedBy : `scan: ${prepared.aside}`;
  } catch (error) {
    assert(String(error).includes("not found in FROM clause"), `${sql}: ${error}`);
    return "refused";
  }
}

/** Bad statements are refused alike. */
async function orReason(asked: Promise<LabAnswer>, told: string): Promise<LabAnswer | string> {
  try {
    return await asked;
  } catch (error) {
    assert(error instanceof Error, told);
    assert.equal((error as { code?: string }).code, "invalid_argument", `${told}: ${error.stack}`);
    // Which row is told of is DuckDB's choice.
    return error.message.slice(0, 40);
  }
}

Deno.test("fast paths answered many of the statements that were asked, each path some", () => {
  const sumOf = (counts: readonly (readonly [string, number])[]) =>
    counts.reduce((sum, [, count]) => sum + count, 0);
  const scans = sumOf([...served].filter(([path]) => path.startsWith("scan")));
  assert(scans < 0.75 * sumOf([...served]), JSON.stringify([...served]));
  for (
    const path of [
      ...["tier1_inline", "tier1_wide", "tier1_windowed_agg", "materialized"],
      ...["words ", "words level", "words name", "words hits", "words code"],
    ]
  ) {
    assert((served.get(path) ?? 0) > 0, JSON.stringify([...served]));
  }
  assert(countedInMemory > 0, "ends of ranges were counted in memory");
});
