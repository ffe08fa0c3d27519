/**
 * One warehouse and WAL behind two engines: one that asks indexes what to read of a data file, and
 * one that reads all of it. Rows are drained several times, the schema of `metrics` grows in
 * between, older files are merged, and some rows are only in the WAL.
 */

import assert from "node:assert/strict";
import { encodeBatch } from "../../shared/columns/ipc.ts";
import { batchOfRows, type RowObject } from "../../shared/columns/rows.ts";
import { type EngineOptions, openEngine } from "../../shared/engine/open_engine.ts";
import type { Engine, Stats } from "../../shared/engine/types.ts";
import { textOf } from "../../shared/base/bytes.ts";
import { INLINE_DERIVER } from "../../shared/derived/deriver.ts";
import { NO_INDEXES } from "../../shared/engine/pruning/row_index.ts";
import { applyMerge, lookForMerges } from "../../shared/upkeep/merge.ts";
import { MERGE_POLICY_DEFAULT } from "../../shared/upkeep/plan_merge.ts";
import { INLINE_PARQUET_DECODER } from "../../shared/parquet/parquet_decoder.ts";
import { drainAll } from "../../shared/drain/drain_all.ts";
import { INLINE_PARQUET_ENCODER } from "../../shared/parquet/parquet_encoder.ts";
import { openWalConsumerAdmin } from "../../shared/wal/admin.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import type { TableSchema } from "../../shared/schema/schema.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import type { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { openWalReader } from "../../shared/wal/reader.ts";
import { HOSTS, KEYS, NAMES, REGIONS, VALUES, WORDS } from "./pruning_statements.ts";
import { scriptWords } from "./script_words.ts";
import { addColumns, METRICS_SCHEMA, METRICS_SCHEMA_LATER } from "./sql_lab.ts";

export interface RunAnswer {
  readonly columns: readonly string[];
  /** Each row as its JSON text. */
  readonly rows: readonly string[];
  readonly stats: Stats;
}

/** What a statement gives: its rows, or why it fails. */
export type Outcome = RunAnswer | { readonly error: string };

const STAGES: readonly (readonly [
  schema: TableSchema,
  then: "drain" | "alter" | "merge" | "seal" | "nothing",
])[] = [
  [METRICS_SCHEMA, "drain"],
  [METRICS_SCHEMA, "alter"],
  [METRICS_SCHEMA_LATER, "merge"],
  [METRICS_SCHEMA_LATER, "drain"],
  [METRICS_SCHEMA, "seal"],
  [METRICS_SCHEMA_LATER, "nothing"],
];
const ROWS_A_STAGE = 500;
/** Words of a seed's own, of scripts all over Unicode. */
const SCRIPT_WORDS = 150;
/** The stage that brings very long texts: their file is merged later. */
const LONG_STAGE = 1;
const LONG_TEXT_LENGTH = 1_048_576;
const LONG_TEXT_TOKENS = 100_000;
const START_NS = 1_790_000_000_000_000_000n; // 2026-09-21T14:13:20Z

export class PruningLab implements AsyncDisposable {
  private constructor(
    readonly lab: EngineLab,
    private readonly plain: Engine,
    /** That rows have. */
    readonly words: readonly string[],
  ) {}

  static async open(
    random: SeededRandom,
    engine: Pick<
      EngineOptions,
      | "indexes"
      | "indexMeter"
      | "paysPages"
      | "probedRows"
      | "scanFileCache"
      | "scanFileCacheMeter"
      | "subqueriesFirst"
    >,
  ): Promise<PruningLab> {
    const lab = await EngineLab.open({ wal: true, engine: { clock: new StillClock(), ...engine } });
    const words = [...WORDS, ...scriptWords(random, SCRIPT_WORDS)];
    for (const [stage, [schema, then]] of STAGES.entries()) {
      const long = stage === LONG_STAGE ? longTexts(random, words) : [];
      await append(lab, { random, schema, seal: then !== "nothing", words, long });
      if (["drain", "alter", "merge"].includes(then)) await drainIndexed(lab);
      if (then === "merge") await merge(lab);
      if (then === "alter") await addColumns(lab, METRICS_SCHEMA_LATER);
    }
    const { dir, store, catalog, files, clock, random: systemRandom } = lab;
    const plain = await openEngine({
      ...{ store, catalog, files, clock, random: systemRandom },
      wal: openWalReader(files, `${dir}/wal`),
      cacheDir: `${dir}/plain-cache`,
      memoryBytesMax: 512 * 2 ** 20,
      spillBytesMax: 512 * 2 ** 20,
      threads: 2,
      indexes: NO_INDEXES,
    });
    return new PruningLab(lab, plain, words);
  }

  withIndexes(sql: string): Promise<Outcome> {
    return outcomeOf(this.lab.engine, sql);
  }

  withoutIndexes(sql: string): Promise<Outcome> {
    return outcomeOf(this.plain, sql);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.plain.close();
    await this.lab[Symbol.asyncDispose]();
  }
}

/**
 * By it lookups take no time, so that all files' indexes are asked, however little a scan would
 * take.
 */
class StillClock extends SystemClock {
  override monotonicMs(): number {
    return 0;
  }
}

/** Drains every lane as the compactor does, sidecars included. */
async function drainIndexed(lab: EngineLab): Promise<void> {
  const { store, catalog, clock, random, files } = lab;
  const root = `${lab.dir}/wal`;
  const totals = await drainAll({
    ...{ store, catalog, clock, random },
    wal: openWalReader(files, root),
    admin: openWalConsumerAdmin(files, clock, root),
    encoder: INLINE_PARQUET_ENCODER,
    deriver: INLINE_DERIVER,
  });
  assert.deepEqual(totals.failures, []);
}

/** Merges the files of both tables as far as a policy goes that merges any two. */
async function merge({ store, catalog, clock, random }: EngineLab): Promise<void> {
  const deps = {
    ...{ store, catalog, clock, random },
    encoder: INLINE_PARQUET_ENCODER,
    decoder: INLINE_PARQUET_DECODER,
    deriver: INLINE_DERIVER,
  };
  const policy = { ...MERGE_POLICY_DEFAULT, fanIn: 2, depthMax: 1 };
  let merged = 0;
  for (const name of ["events", "metrics"]) {
    const plan = await lookForMerges(deps, { namespace: "svc", name }, { policy });
    for (const task of plan?.tasks ?? []) {
      assert(plan !== undefined);
      assert.equal((await applyMerge(deps, plan.table, task)).outcome, "merged");
      merged += 1;
    }
  }
  assert(merged > 0, "there was something to merge");
}

async function outcomeOf(engine: Engine, sql: string): Promise<Outcome> {
  try {
    await using prepared = await engine.prepare({
      sql,
      namespace: "svc",
      tenant: "default",
      defaultOrder: false,
      rowsMax: 100_000,
      deadlineMs: 60_000,
    });
    await using running = await prepared.run();
    let text = "";
    for await (const chunk of running.chunks("objects")) text += textOf(chunk.bytes());
    const columns = running.columns.map(({ name }) => name);
    const rows = text.split("\n").filter((line) => line !== "");
    return { columns, rows, stats: await running.stats() };
  } catch (error) {
    return { error: String(error) };
  }
}

async function append(
  { wal }: EngineLab,
  { random, schema, seal, words, long }: {
    readonly random: SeededRandom;
    readonly schema: TableSchema;
    readonly seal: boolean;
    readonly words: readonly string[];
    /** Texts of further events. */
    readonly long: readonly string[];
  },
): Promise<void> {
  assert(wal !== undefined);
  const lanes = [
    ["events", EVENTS_SCHEMA, () => eventOf(random, words)],
    ["metrics", schema, () => metricOf(random, schema)],
  ] as const;
  for (const [index, ofTable, make] of lanes) {
    const lane = { tenant: "default", index };
    const rows = Array.from({
      length: 1 + random.below(index === "events" ? ROWS_A_STAGE : ROWS_A_STAGE / 10),
    }, make);
    if (index === "events") rows.push(...long.map((raw) => ({ ...eventOf(random, words), raw })));
    await wal.append(lane, encodeBatch(batchOfRows(ofTable, rows)), "auto");
    if (seal) await wal.seal(lane);
  }
}

/** Few instants, so that rows of both tables meet in joins; of two days. */
function timeOf(random: SeededRandom): RowObject {
  const ns = START_NS + BigInt(random.below(2)) * 86_400_000_000_000n +
    BigInt(random.below(40)) * 977_000_000n + BigInt(random.below(3)) * 400n;
  return { timestamp: ns / 1_000n, timestamp_ns: ns };
}

/**
 * One of a million characters and of one token; one of more tokens than any log line has, most of
 * them its own.
 */
function longTexts(random: SeededRandom, words: readonly string[]): string[] {
  const word = () => words[random.below(words.length)] ?? "";
  const tokens = Array.from(
    { length: LONG_TEXT_TOKENS },
    (_, at) => at % 100 === 0 ? word() : `t${at}`,
  );
  return ["x".repeat(LONG_TEXT_LENGTH) + word(), tokens.join(" ")];
}

function eventOf(random: SeededRandom, known: readonly string[]): RowObject {
  const pick = <T>(values: readonly T[]) => values[random.below(values.length)] as T;
  const count = random.chance(0.002) ? random.below(20_000) : random.below(4);
  const time = timeOf(random);
  // Most words have their time, so that indexes of files in order of time have something to leave
  // out.
  const first = Number(BigInt(time["timestamp_ns"] ?? 0n) / 20_000_000_000n);
  const words = Array.from(
    { length: count },
    () => random.chance(0.9) ? known[(first + random.below(4)) % known.length] ?? "" : pick(known),
  );
  return {
    ...time,
    host: pick(HOSTS),
    source: pick(["shop", "otel", ...HOSTS.slice(0, 2)]),
    sourcetype: "app",
    index: "main",
    raw: words.map((word) => random.chance(0.2) ? word.toUpperCase() : word)
      .join(pick([" ", " ", "-", "", ": "])),
    attributes: attributesOf(random),
  };
}

function attributesOf(random: SeededRandom): string | null {
  if (random.chance(0.15)) return null;
  const value = () => {
    const text = VALUES[random.below(VALUES.length)] ?? "";
    if (random.chance(0.6)) return JSON.stringify(text);
    if (random.chance(0.4)) return JSON.stringify({ user: text });
    const others = ["200", "1.5", "1.50", "true", "null", "[1]", '{"user":200}', "1e3", "-0.0"];
    return others[random.below(others.length)] ?? "";
  };
  const members = KEYS.filter(() => random.chance(0.4))
    .map((key) => `${JSON.stringify(key)}:${value()}`);
  return `{${members.join(",")}}`;
}

function metricOf(random: SeededRandom, schema: TableSchema): RowObject {
  const pick = <T>(values: readonly T[]) => values[random.below(values.length)] as T;
  const maybe = <T>(value: T) => random.chance(0.2) ? null : value;
  const row: RowObject = {
    ...timeOf(random),
    name: pick(NAMES),
    value: maybe(pick([random.below(2_000_000) / 1_000 - 500, 0, -0, -100.5, Number.NaN])),
    hits: maybe(pick([0n, 1n, -7n, 9_007_199_254_740_993n, 42n])),
    code: maybe(pick([200, 404, 500])),
    ok: maybe(random.chance(0.5)),
  };
  return schema === METRICS_SCHEMA
    ? row
    : { ...row, region: maybe(pick(REGIONS)), latency: maybe(random.below(9_999) / 8) };
}
