/**
 * Delete files of other engines: every statement gives what a model of the rows gives, before,
 * while and after the compactor applies them. Expected rows come from the model alone.
 */

import assert from "node:assert/strict";
import { NS_PER_DAY } from "../base/time.ts";
import { commitRewrite } from "../iceberg/commit_rewrite.ts";
import { commitAppend } from "../iceberg/commit_append.ts";
import { IcebergReader, type LoadedTable } from "../iceberg/iceberg_reader.ts";
import { currentSnapshot } from "../iceberg/table_metadata.ts";
import { INLINE_PARQUET_DECODER } from "../parquet/parquet_decoder.ts";
import { INLINE_PARQUET_ENCODER } from "../parquet/parquet_encoder.ts";
import { INLINE_DERIVER } from "../derived/deriver.ts";
import { present } from "../base/assert.ts";
import { EngineLab, type LabEvent } from "../testing/engine_lab.ts";
import { commitDeletes, type NewDelete } from "../testing/foreign_deletes.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { applyExpire } from "../tables/expire.ts";
import { applyAllDeletes, applyForeignDeletes } from "./apply_deletes.ts";
import { applyMerge, lookForMerges } from "./merge.ts";

const EVENTS = { namespace: "svc", name: "events" };
const DAY = 20_777;
const START_NS = BigInt(DAY) * NS_PER_DAY;
const DAYS = [0, 1, 2];
const SEEDS = Number(Deno.env.get("SVC_TEST_DELETE_SEEDS") ?? 1);
const HOSTS = ["a", "b", "c\u0000🦊", ""];
const ATTRIBUTES = [null, "{}", '{"k":"v"}'];

type Row = Required<LabEvent>;

/** A table with a model of its rows: in each data file, the rows that are left. */
class Model {
  readonly lab: EngineLab;
  readonly #random: SeededRandom;
  /** By location, the file's rows in its order; undefined: the row was deleted. */
  readonly #files = new Map<string, (Row | undefined)[]>();
  /** Rows that a merge or the compactor moved to files that the model does not know. */
  #loose: Row[] = [];
  #numbers = 0;

  constructor(lab: EngineLab, seed: number) {
    this.lab = lab;
    this.#random = new SeededRandom(seed);
  }

  get deps() {
    const { store, catalog, clock, random } = this.lab;
    return {
      ...{ store, catalog, clock, random },
      encoder: INLINE_PARQUET_ENCODER,
      decoder: INLINE_PARQUET_DECODER,
      deriver: INLINE_DERIVER,
    };
  }

  get rows(): Row[] {
    const left = [...this.#files.values()].flat().filter((row) => row !== undefined);
    return [...this.#loose, ...left];
  }

  async table(): Promise<LoadedTable> {
    const location = present(await this.lab.catalog.metadataLocation(EVENTS));
    return await new IcebergReader(this.lab.store).loadTable(EVENTS, location);
  }

  #below(end: number): number {
    return Math.floor(this.#random.float() * end);
  }

  async append(): Promise<void> {
    const day = present(DAYS[this.#below(DAYS.length)]);
    const rows = Array.from({ length: 1 + this.#below(30) }, (_, at): Row => ({
      ns: START_NS + BigInt(day) * NS_PER_DAY + BigInt(this.#below(1000) * 1_000_000_000 + at),
      host: present(HOSTS[this.#below(HOSTS.length)]),
      raw: `row ${this.#numbers++}${this.#below(3) === 0 ? " needle" : ""}`,
      attributes: ATTRIBUTES[this.#below(ATTRIBUTES.length)] ?? null,
    })).sort((a, b) => a.ns < b.ns ? -1 : 1);
    const before = new Set(await this.#locations());
    await this.lab.commit(rows, { derived: true, rowGroupRowsMax: 8 });
    const [location] = (await this.#locations()).filter((one) => !before.has(one));
    this.#files.set(present(location), rows);
  }

  /** Positions in some files of one day, in one delete file or a few. */
  async deletePositions(): Promise<void> {
    const days = Map.groupBy(
      [...this.#files],
      ([, rows]) => Number((rows.find((row) => row !== undefined)?.ns ?? -1n) / NS_PER_DAY),
    );
    days.delete(0);
    const [day, files] = [...days][this.#below(days.size)] ?? [];
    if (day === undefined || files === undefined) return;
    const deleted = files.flatMap(([location, rows]) =>
      rows.flatMap((_, place) => this.#below(3) === 0 ? [{ location, place }] : [])
    );
    if (deleted.length === 0) return;
    const half = this.#below(deleted.length);
    const parts = [deleted.slice(0, half), deleted.slice(half)].filter(({ length }) => length > 0);
    const hasBounds = this.#below(2) === 0;
    await commitDeletes(
      this.deps,
      EVENTS,
      parts.map((rows): NewDelete => ({ kind: "position", day, rows, hasBounds })),
    );
    for (const { location, place } of deleted) {
      present(this.#files.get(location))[place] = undefined;
    }
  }

  async deleteValues(): Promise<void> {
    const day = DAY + present(DAYS[this.#below(DAYS.length)]);
    const host = present(HOSTS[this.#below(HOSTS.length)]);
    const attributes = ATTRIBUTES[this.#below(ATTRIBUTES.length)] ?? null;
    const columns = this.#below(2) === 0 ? ["host", "attributes"] : ["attributes"];
    const rows = [columns.length === 2 ? { host, attributes } : { attributes }];
    await commitDeletes(this.deps, EVENTS, [{ kind: "equality", day, columns, rows }]);
    const isGone = (row: Row | undefined) =>
      row !== undefined && Number(row.ns / NS_PER_DAY) === day && row.attributes === attributes &&
      (columns.length === 1 || row.host === host);
    for (const own of this.#files.values()) {
      own.forEach((row, at) => isGone(row) && (own[at] = undefined));
    }
    this.#loose = this.#loose.filter((row) => !isGone(row));
  }

  /** One commit of the compactor, or one merge: rows are in files of other names then. */
  async maintain(): Promise<void> {
    if (this.#below(2) === 0) {
      await applyForeignDeletes(this.deps, EVENTS, { checked: new Set() });
    } else {
      const plan = await lookForMerges(this.deps, EVENTS, { isLeftAlone: () => false });
      const [task] = plan?.tasks ?? [];
      if (plan !== undefined && task !== undefined) await applyMerge(this.deps, plan.table, task);
    }
    const live = new Set(await this.#locations());
    for (const [location, rows] of this.#files) {
      if (live.has(location)) continue;
      this.#loose.push(...rows.filter((row) => row !== undefined));
      this.#files.delete(location);
    }
  }

  async #locations(): Promise<string[]> {
    if (await this.lab.catalog.metadataLocation(EVENTS) === undefined) return [];
    const entries = await new IcebergReader(this.lab.store).liveEntries(await this.table());
    return entries.map(({ file }) => file.location);
  }

  async check(): Promise<void> {
    const { lab, rows } = this;
    const newest = rows.toSorted((a, b) => a.ns < b.ns ? 1 : a.ns > b.ns ? -1 : 0);
    const raws = (all: readonly Row[]) => all.map(({ raw }) => raw).toSorted();
    const ask = async (sql: string) => (await lab.query(sql)).rows;
    const flat = async (sql: string) => (await ask(sql)).flat().toSorted();
    assert.deepEqual(await flat("SELECT raw FROM events"), raws(rows));
    assert.deepEqual(await ask("SELECT count(*) FROM events"), [[rows.length]]);
    const byHost = Map.groupBy(rows, ({ host }) => host);
    assert.deepEqual(
      (await ask("SELECT host, count(*) FROM events GROUP BY host")).map(String).toSorted(),
      [...byHost].map(([host, own]) => String([host, own.length])).toSorted(),
    );
    const day = START_NS + NS_PER_DAY;
    const inDay = rows.filter(({ ns }) => ns >= day && ns < day + NS_PER_DAY);
    const iso = (ns: bigint) => new Date(Number(ns / 1_000_000n)).toISOString();
    assert.deepEqual(
      await ask(`SELECT count(*) FROM events WHERE timestamp >= '${iso(day)}'
        AND timestamp < '${iso(day + NS_PER_DAY)}'`),
      [[inDay.length]],
    );
    const half = day + 500_000_000_000n;
    assert.deepEqual(
      await ask(`SELECT count(*), count(attributes) FROM events WHERE timestamp >= '${iso(half)}'`),
      [[
        rows.filter(({ ns }) => ns >= half).length,
        rows.filter(({ ns, attributes }) => ns >= half && attributes !== null).length,
      ]],
    );
    assert.deepEqual(
      await flat("SELECT raw FROM events WHERE match_terms(raw, 'needle')"),
      raws(rows.filter(({ raw }) => raw.endsWith("needle"))),
    );
    const times = await ask(
      "SELECT timestamp_ns::VARCHAR FROM events ORDER BY timestamp_ns DESC LIMIT 7",
    );
    assert.deepEqual(times.flat(), newest.slice(0, 7).map(({ ns }) => String(ns)));
    const bare = await lab.query("SELECT timestamp_ns::VARCHAR AS t FROM events LIMIT 3", {
      defaultOrder: true,
    });
    assert.equal(bare.rows.length, Math.min(3, rows.length));
  }

  async step(): Promise<void> {
    const steps = [
      () => this.append(),
      () => this.append(),
      () => this.deletePositions(),
      () => this.deleteValues(),
      () => this.maintain(),
    ];
    await present(steps[this.#below(steps.length)])();
  }
}

Deno.test({
  name: "statements over delete files give what a model gives, while merges and deletes go on",
  async fn() {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      await using lab = await EngineLab.open();
      const model = new Model(lab, seed);
      for (let at = 0; at < 3; at += 1) await model.append();
      for (let at = 0; at < 25; at += 1) {
        await model.step();
        try {
          await model.check();
        } catch (error) {
          throw new Error(`seed ${seed}, step ${at}`, { cause: error });
        }
      }
      await applyAllDeletes(model.deps, EVENTS);
      await model.check();
      const table = await model.table();
      assert.equal(await new IcebergReader(lab.store).hasDeletes(table), false);
    }
  },
});

/** Two files of one day, the first with deletes. */
async function touchedLab(lab: EngineLab) {
  const at = (number: number) => ({ ns: START_NS + BigInt(number), raw: `row ${number}` });
  await lab.commit([0, 1, 2].map(at), { derived: true });
  await lab.commit([3, 4].map(at), { derived: true });
  const model = new Model(lab, 1);
  const { deps } = model;
  const reader = new IcebergReader(lab.store);
  const planned = await model.table();
  const { files } = await reader.selectFiles(planned);
  const location = present(files[0]).location;
  const rows = [{ location, place: 1 }];
  const [key] = await commitDeletes(deps, EVENTS, [{ kind: "position", day: DAY, rows }]);
  return { model, deps, reader, planned, files, deleteKey: present(key) };
}

Deno.test({
  name: "a merge that was planned before another engine deleted rows is void",
  async fn() {
    await using lab = await EngineLab.open();
    const { deps, planned, files } = await touchedLab(lab);
    const task = { day: DAY, files, reason: "tier" } as const;
    const report = await applyMerge(deps, planned, task);
    assert.equal(report.outcome, "superseded");
    const raws = (await lab.query("SELECT raw FROM events")).rows.flat().toSorted();
    assert.deepEqual(raws, ["row 0", "row 2", "row 3", "row 4"]);
  },
});

Deno.test({
  name: "delete files stay until each data file that they touch is written anew",
  async fn() {
    await using lab = await EngineLab.open();
    const { model, deps, reader, files, deleteKey } = await touchedLab(lab);
    const table = await model.table();
    await assert.rejects(reader.selectFiles(table), { code: "unavailable" });
    // A rewrite of the file that has no deletes goes through, and keeps them.
    const untouched = present(files[1]);
    const { outcome } = await commitRewrite(deps, {
      ...{ ident: EVENTS, tableUuid: table.uuid, kind: "delete", replaced: [untouched], files: [] },
    });
    assert.equal(outcome, "committed");
    assert.equal(await reader.hasDeletes(await model.table()), true);
    await commitAppend(deps, { ident: EVENTS, schema: EVENTS_SCHEMA, files: [], consumed: ["s"] });
    assert.equal(await reader.hasDeletes(await model.table()), true);
    const applied = await applyForeignDeletes(deps, EVENTS, { checked: new Set() });
    assert.deepEqual(applied, { outcome: "applied", files: 1, rows: 1, more: false });
    const after = await model.table();
    assert.equal(await reader.hasDeletes(after), false);
    const summary = currentSnapshot(after.metadata)?.summary;
    assert.deepEqual(
      [summary?.["operation"], summary?.["svc.rewrite"], summary?.["total-delete-files"]],
      ["replace", "apply", "0"],
    );
    assert.deepEqual(
      (await lab.query("SELECT raw FROM events ORDER BY 1")).rows.flat(),
      ["row 0", "row 2"],
    );
    // Expiry finds the delete file among what only expired snapshots have.
    const entered: string[] = [];
    const removals = {
      enter: (_: string, keys: readonly string[]) => {
        entered.push(...keys);
        return Promise.resolve();
      },
    } as unknown as Parameters<typeof applyExpire>[0]["removals"];
    const expired = await applyExpire(
      { ...deps, ...(removals === undefined ? {} : { removals }) },
      EVENTS,
      { retainLast: 1, ageMsMin: 0 },
    );
    assert.ok(expired > 0);
    assert.ok(entered.includes(deleteKey));
  },
});

Deno.test({
  name: "delete files that touch nothing leave the table alone",
  async fn() {
    await using lab = await EngineLab.open();
    const { model, deps, reader } = await touchedLab(lab);
    const day = DAY + 40;
    const rows = [{ host: "nobody" }];
    await commitDeletes(deps, EVENTS, [{ kind: "equality", day, columns: ["host"], rows }]);
    await applyAllDeletes(deps, EVENTS);
    assert.equal(await reader.hasDeletes(await model.table()), false);
    assert.equal((await lab.query("SELECT raw FROM events")).rows.length, 4);
  },
});
