/**
 * Fast paths while the table changes under them. Rows come through the WAL and are drained. Files
 * are merged, rolled up, lose rows to delete tasks and whole days to retention, each by what the
 * compactor runs. Statements of every path are asked of the running engine meanwhile. Each answer
 * is that of one state which the table had meanwhile: of all rows of a change, or of none. What a
 * state answers is worked out here, from rows in memory.
 *
 * `SVC_TEST_SEED` and `SVC_LIVE_ROUNDS` ask for another seed, and for more changes (default 8).
 */

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { textOf } from "../../../shared/base/bytes.ts";
import { openDeleteLedger } from "../../../shared/catalog/open_catalog_parts.ts";
import { encodeBatch } from "../../../shared/columns/ipc.ts";
import { batchOfRows } from "../../../shared/columns/rows.ts";
import { inlineDeriver } from "../../../shared/derived/deriver.ts";
import type { TableSchema } from "../../../shared/schema/schema.ts";
import { ensureTable } from "../../../shared/iceberg/commit_append.ts";
import { IcebergReader } from "../../../shared/iceberg/iceberg_reader.ts";
import { sweepDeleteTasks } from "../../../shared/upkeep/delete_loop.ts";
import { drainAll } from "../../../shared/drain/drain_all.ts";
import { applyMerge, lookForMerges } from "../../../shared/upkeep/merge.ts";
import { openDeletes } from "../../../shared/upkeep/open_deletes.ts";
import { MERGE_POLICY_DEFAULT } from "../../../shared/upkeep/plan_merge.ts";
import { applyRetention, lookForRetention } from "../../../shared/upkeep/retention.ts";
import { sweepRollups } from "../../../shared/upkeep/rollup_sweep.ts";
import { INLINE_PARQUET_DECODER } from "../../../shared/parquet/parquet_decoder.ts";
import { INLINE_PARQUET_ENCODER } from "../../../shared/parquet/parquet_encoder.ts";
import { EngineLab } from "../../../shared/testing/engine_lab.ts";
import { FakeClock } from "../../../shared/testing/fake_clock.ts";
import { SeededRandom } from "../../../shared/testing/seeded_random.ts";
import { openWalConsumerAdmin } from "../../../shared/wal/admin.ts";
import { openWalReader } from "../../../shared/wal/reader.ts";

const SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 7_004);
const ROUNDS = Number(Deno.env.get("SVC_LIVE_ROUNDS") ?? 8);

const SCHEMA: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true },
    { id: 2, name: "timestamp_ns", type: "long", required: true },
    { id: 3, name: "host", type: "string", required: true },
    { id: 4, name: "code", type: "int", required: false },
    { id: 5, name: "took", type: "long", required: true },
    { id: 6, name: "page", type: "string", required: true },
    { id: 7, name: "request", type: "string", required: true },
    { id: 8, name: "raw", type: "string", required: true },
  ],
  tags: ["host", "page", "request"],
};
const IDENT = { namespace: "svc", name: "visits" };
const LANE = { tenant: "default", index: "visits" };
/** More pages than a summary counts, so that they are a column with many values. */
const DERIVER = inlineDeriver({ groupValuesMax: 12 });
const PAGES = 60;
const HOSTS = 5;
const OUTCOMES = ["was served", "was served late", "Was refused", "failed", "failed, was refused"];

const DAY_NS = 86_400_000_000_000n;
const MINUTE_NS = 60_000_000_000n;
const FIRST_DAY_NS = 20_700n * DAY_NS;
const DAYS = 5;
const NOW_MS = Number((FIRST_DAY_NS + BigInt(DAYS) * DAY_NS) / 1_000_000n);
/** A range that cuts through days and minutes. */
const CUT = {
  fromNs: FIRST_DAY_NS + 90n * MINUTE_NS + 7_000_000_000n,
  endNs: FIRST_DAY_NS + 3n * DAY_NS + 200n * MINUTE_NS + 31_000_000_000n,
};

interface Visit {
  readonly ns: bigint;
  readonly host: string;
  readonly code: number | null;
  readonly took: number;
  readonly page: string;
  readonly request: string;
  readonly raw: string;
}

type State = readonly Visit[];
type Row = readonly unknown[];

interface Question {
  readonly sql: string;
  /** What a state answers, in any order. */
  readonly of: (state: State) => readonly Row[];
}

function counted(state: State, key: (visit: Visit) => Row): Row[] {
  const counts = new Map<string, number>();
  for (const visit of state) {
    const text = JSON.stringify(key(visit));
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].map(([text, count]) => [...JSON.parse(text) as unknown[], count]);
}

function hourOf({ ns }: Visit): string {
  return new Date(Number(ns / 1_000_000n)).toISOString().replace(/:.*/, ":00:00.000000Z");
}

const atNs = (ns: bigint) => `make_timestamptz(${ns / 1_000n})`;

const QUESTIONS: readonly Question[] = [
  { sql: "SELECT count(*) FROM visits", of: (state) => [[state.length]] },
  {
    sql: "SELECT host, count(*) FROM visits GROUP BY host",
    of: (state) => counted(state, ({ host }) => [host]),
  },
  {
    sql: "SELECT host, code, count(*) FROM visits GROUP BY host, code",
    of: (state) => counted(state, ({ host, code }) => [host, code]),
  },
  {
    sql: "SELECT code, sum(took), max(took), count(*) FROM visits GROUP BY code",
    of: (state) =>
      [...Map.groupBy(state, ({ code }) => code)].map(([code, own]) => {
        const took = own.map((visit) => visit.took);
        return [code, took.reduce((sum, one) => sum + one, 0), Math.max(...took), own.length];
      }),
  },
  {
    sql: "SELECT date_trunc('hour', timestamp), count(*) FROM visits GROUP BY 1",
    of: (state) => counted(state, (visit) => [hourOf(visit)]),
  },
  {
    sql: "SELECT host, count(*) FROM visits " +
      `WHERE timestamp >= ${atNs(CUT.fromNs)} AND timestamp < ${atNs(CUT.endNs)} GROUP BY host`,
    of: (state) =>
      counted(
        state.filter(({ ns }) => ns >= CUT.fromNs && ns < CUT.endNs),
        ({ host }) => [host],
      ),
  },
  {
    sql: "SELECT page, count(*) FROM visits GROUP BY page ORDER BY 2 DESC, 1 LIMIT 5",
    of: (state) =>
      counted(state, ({ page }) => [page])
        .sort(([a, n], [b, m]) => Number(m) - Number(n) || (String(a) < String(b) ? -1 : 1))
        .slice(0, 5),
  },
  {
    sql: "SELECT count(*) FROM visits WHERE match_terms(raw, 'failed')",
    of: (state) => [[state.filter(({ raw }) => raw.includes("failed")).length]],
  },
  {
    sql: "SELECT date_trunc('hour', timestamp), count(*) FROM visits " +
      "WHERE match_phrase(raw, 'was refused') GROUP BY 1",
    of: (state) =>
      counted(
        state.filter(({ raw }) => raw.toLowerCase().includes("was refused")),
        (visit) => [hourOf(visit)],
      ),
  },
  {
    sql: "SELECT count(*) FROM visits WHERE NOT match_terms(raw, 'served') " +
      `AND timestamp >= ${atNs(CUT.fromNs)} AND timestamp < ${atNs(CUT.endNs)}`,
    of: (state) => [[
      state.filter(({ ns, raw }) => ns >= CUT.fromNs && ns < CUT.endNs && !raw.includes("served"))
        .length,
    ]],
  },
  {
    sql: "SELECT count(DISTINCT page) FROM visits",
    of: (state) => [[new Set(state.map(({ page }) => page)).size]],
  },
];

const TOP_SQL =
  "SELECT request, count(*) AS n FROM visits GROUP BY request ORDER BY n DESC LIMIT 3";

/** The table, its states so far, and what compactors do to it. */
class Live {
  /** The last one may be coming; those before `settled` are over. */
  readonly states: State[] = [[]];
  settled = 0;
  readonly clock = new FakeClock(NOW_MS);
  #visits = 0;

  constructor(readonly lab: EngineLab, readonly random: SeededRandom) {}

  get #state(): State {
    return this.states.at(-1) as State;
  }

  get #deps() {
    const { store, catalog, random, files, dir } = this.lab;
    return {
      ...{ store, catalog, random, clock: this.clock },
      reader: new IcebergReader(store),
      wal: openWalReader(files, `${dir}/wal`),
      admin: openWalConsumerAdmin(files, this.clock, `${dir}/wal`),
      encoder: INLINE_PARQUET_ENCODER,
      decoder: INLINE_PARQUET_DECODER,
    };
  }

  /** `change` makes `next` of the table, in one step. */
  async #become(next: State, change: () => Promise<void>): Promise<void> {
    this.states.push(next);
    await change();
    this.settled = this.states.length - 1;
  }

  async append(count = 20 + this.random.below(300)): Promise<void> {
    const day = BigInt(this.random.below(DAYS));
    const visits = Array.from({ length: count }, (): Visit => {
      const { random } = this;
      this.#visits += 1;
      return {
        ns: FIRST_DAY_NS + day * DAY_NS + BigInt(random.below(300)) * MINUTE_NS +
          BigInt(random.below(60_000)) * 1_000_000n,
        host: `h${random.below(HOSTS)}`,
        code: random.chance(0.2) ? null : 200 + random.below(4),
        took: random.below(1_000),
        page: `/p${Math.min(random.below(PAGES), random.below(PAGES))}`,
        request: random.chance(0.1) ? `often-${random.below(3)}` : `own-${this.#visits}`,
        raw: `visit ${this.#visits} ${OUTCOMES[random.below(OUTCOMES.length)]}`,
      };
    });
    const rows = visits.map(({ ns, took, ...others }) => ({
      ...others,
      timestamp: ns / 1_000n,
      timestamp_ns: ns,
      took: BigInt(took),
    }));
    await this.#become([...this.#state, ...visits], async () => {
      await this.lab.wal?.append(LANE, encodeBatch(batchOfRows(SCHEMA, rows)), "auto");
    });
  }

  /** Rows stay the same: they are elsewhere. */
  async drain(derived = true): Promise<void> {
    await this.lab.wal?.seal(LANE);
    const totals = await drainAll({ ...this.#deps, ...(derived ? { deriver: DERIVER } : {}) });
    assert.deepEqual(totals.failures, []);
  }

  async merge(): Promise<void> {
    const deps = { ...this.#deps, deriver: DERIVER };
    const policy = { ...MERGE_POLICY_DEFAULT, fanIn: 2, depthMax: 2 };
    const plan = await lookForMerges(deps, IDENT, { policy });
    for (const task of plan?.tasks ?? []) {
      if (plan !== undefined) await applyMerge(deps, plan.table, task);
    }
  }

  async rollUp(): Promise<void> {
    const { reader, catalog } = this.#deps;
    const table = await reader.loadTable(IDENT, await catalog.metadataLocation(IDENT) ?? "");
    await sweepRollups(this.#deps, { table, ...await reader.selectFiles(table) }, { filesMin: 2 });
  }

  async delete(): Promise<void> {
    await this.drain();
    const { dir, files } = this.lab;
    const [host, least] = [`h${this.random.below(HOSTS)}`, this.random.below(1_000)];
    const isLeft = (visit: Visit) => visit.host !== host || visit.took < least;
    const place = `${dir}/warehouse/catalog.db`;
    await using ledger = await openDeleteLedger(place, { files });
    await ledger.submit({
      ...{ taskId: `task-${this.states.length}`, ident: IDENT, tableUuid: undefined, epoch: 0 },
      ...{ predicate: `host = '${host}' AND took >= ${least}` },
      ...{ startNs: undefined, endNs: undefined },
    }, 100);
    await using deletes = await openDeletes({
      drain: { ...this.#deps, deriver: DERIVER },
      files,
      catalogPlace: place,
      scratchParent: `${dir}/scratch`,
    });
    await this.#become(this.#state.filter(isLeft), async () => {
      const outcomes = await sweepDeleteTasks(deletes.deps);
      assert.deepEqual([...outcomes.values()], ["done"]);
    });
  }

  /** The oldest days go, with all their files. */
  async retain(): Promise<void> {
    await this.drain();
    const horizonNs = FIRST_DAY_NS + BigInt(1 + this.random.below(2)) * DAY_NS;
    const period_secs = Number((BigInt(NOW_MS) * 1_000_000n - horizonNs) / 1_000_000_000n);
    const plan = await lookForRetention(this.#deps, IDENT, { period_secs });
    await this.#become(this.#state.filter(({ ns }) => ns >= horizonNs), async () => {
      if (plan !== undefined) await applyRetention({ ...this.#deps, deriver: DERIVER }, plan);
    });
  }
}

/** Asks every question at once, and looks for a state of the meantime that has each answer. */
async function ask(live: Live, served: Map<string, number>): Promise<void> {
  const first = live.settled;
  const meantime = () => live.states.slice(first);
  const note = (path: string) => served.set(path, (served.get(path) ?? 0) + 1);
  const exact = QUESTIONS.map(async ({ sql, of }) => {
    const { rows, stats } = await live.lab.query(sql);
    note(stats.served_by);
    const found = textsOf(rows);
    const states = meantime().map((state) => textsOf(of(state)));
    assert(
      states.some((texts) => texts.join() === found.join()),
      `${stats.served_by}: ${sql}\nanswered ${found.join()}\nand not any of\n${states.join("\n")}`,
    );
  });
  await Promise.all([...exact, askTop(live, meantime).then(note)]);
}

function textsOf(rows: readonly Row[]): string[] {
  return rows.map((row) => JSON.stringify(row)).sort();
}

/** Bounds of counts hold for one state, for all values that are told and those that are not. */
async function askTop(live: Live, meantime: () => readonly State[]): Promise<string> {
  await using prepared = await live.lab.prepare(TOP_SQL, { isExact: false });
  await using running = await prepared.run();
  let text = "";
  for await (const chunk of running.chunks("array_lines")) text += textOf(chunk.bytes());
  const told = text.split("\n").filter((line) => line !== "")
    .map((line) => JSON.parse(line.replace(/,$/, "")) as [string, number]);
  const { served_by } = await running.stats();
  const { count_error_max: error = 0 } = (running.approximation ?? {}) as {
    count_error_max?: number;
  };
  const least = told.length < 3 ? 0 : Math.min(...told.map(([, count]) => count));
  const holds = (state: State) => {
    const counts = new Map(counted(state, ({ request }) => [request]) as [string, number][]);
    for (const [request, count] of told) {
      const real = counts.get(request) ?? 0;
      if (count > real || real > count + error) return false;
      counts.delete(request);
    }
    return [...counts.values()].every((count) => count <= least + error);
  };
  assert(meantime().some(holds), `${served_by}, ±${error}: ${JSON.stringify(told)}`);
  return served_by;
}

Deno.test(`answers are of one state each while rows come, go and move, seed ${SEED}`, async () => {
  const random = new SeededRandom(SEED);
  await using lab = await EngineLab.open({ wal: true });
  const { store, catalog, clock } = lab;
  await ensureTable({ store, catalog, clock, random }, { ident: IDENT, schema: SCHEMA });
  const live = new Live(lab, random);
  const served = new Map<string, number>();
  await ask(live, served);
  await live.append();
  await ask(live, served);
  // Requests nearly as many as rows: a file of them has its most frequent ones alone.
  for (let n = 0; n < 3; n += 1) {
    await live.append(1_200);
    await live.drain();
  }

  const changes = [
    ["append", () => live.append()],
    ["drain", () => live.drain()],
    ["plain drain", () => live.drain(false)],
    ["merge", () => live.merge()],
    ["roll up", () => live.rollUp()],
    ["delete", () => live.delete()],
    ["retain", () => live.retain()],
  ] as const;
  const during = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const [name, change] = changes[round % changes.length] ?? changes[0];
    // Some begin with an engine that knows nothing yet.
    if (random.chance(0.3)) await lab.restartEngine();
    let isOver = false;
    const changing = (async () => {
      if (name.endsWith("drain")) await live.append();
      await pause(random.below(40));
      await change();
    })().finally(() => isOver = true);
    const asking = (async () => {
      while (!isOver) {
        await ask(live, served);
        during.set(name, (during.get(name) ?? 0) + 1);
      }
    })();
    await Promise.all([changing, asking]);
    await ask(live, served);
  }
  for (const [name] of changes) {
    assert((during.get(name) ?? 0) > 0, `statements ran during ${name}: ${[...during]}`);
  }
  const paths = ["tier1_inline", "tier1_windowed_agg", "tier1_wide", "materialized", "sketch"];
  for (const path of paths) assert(served.has(path), `${path}: ${[...served]}`);
});
