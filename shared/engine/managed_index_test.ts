/**
 * A configured index from its first row to its drop, as statements see it: from the WAL, drained,
 * widened, dropped.
 */

import { deepStrictEqual, equal, ok, rejects } from "node:assert/strict";
import { openIndexCatalog } from "../catalog/open_catalog_parts.ts";
import { encodeBatch } from "../columns/ipc.ts";
import { batchOfRows, type RowObject } from "../columns/rows.ts";
import type { IndexConfig } from "../schema/doc_mapping.ts";
import { parseIndexConfig } from "../schema/index_config.ts";
import { indexSchema } from "../schema/index_schema.ts";
import { parseIndexTemplate } from "../schema/index_template.ts";
import type { DrainDeps } from "../drain/drain.ts";
import { drainAll } from "../drain/drain_all.ts";
import { INLINE_PARQUET_ENCODER } from "../parquet/parquet_encoder.ts";
import { EngineLab } from "../testing/engine_lab.ts";
import { openWalConsumerAdmin } from "../wal/admin.ts";
import { openWalReader } from "../wal/reader.ts";

const TIME = { name: "timestamp", type: "datetime", required: true };
const LANE = { tenant: "default", index: "app" };
const APP = { namespace: "svc", name: "app" };
const START_NS = 1_780_000_000_000_000_000n;

function config(fields: readonly unknown[], mapping: object = {}): IndexConfig {
  return parseIndexConfig({
    index_id: "app",
    doc_mapping: { field_mappings: [TIME, ...fields], ...mapping },
  });
}

const NARROW = config([{ name: "status", type: "long" }]);
const WIDE = config([{ name: "status", type: "long" }, { name: "took", type: "double" }]);

Deno.test({
  name: "a configured index answers before it has rows, from the WAL, drained, and widened",
  async fn() {
    await using lab = await openLab();
    await lab.indexes.create("svc", { config: NARROW, etag: "e1" });
    const empty = await lab.query("SELECT * FROM app");
    deepStrictEqual(empty.columns.slice(-2), ["attributes", "status"]);
    deepStrictEqual(empty.rows, []);

    await lab.append(NARROW, [{ raw: "a", status: 200n }, { raw: "b", status: null }]);
    deepStrictEqual(await lab.rows("raw, status"), [["a", 200], ["b", null]]);
    await lab.drain();
    deepStrictEqual(await lab.rows("raw, status"), [["a", 200], ["b", null]]);

    await lab.indexes.replace("svc", { config: WIDE, etag: "e2" }, "e1");
    deepStrictEqual(
      (await lab.rows("raw, took"))[0],
      ["a", null],
      "a column before its first value",
    );
    await lab.append(WIDE, [{ raw: "c", status: 500n, took: 1.5 }]);
    await lab.append(NARROW, [{ raw: "d", status: 404n }]); // An ingest server that has not heard.
    const expected = [["a", 200, null], ["b", null, null], ["c", 500, 1.5], ["d", 404, null]];
    deepStrictEqual(await lab.rows("raw, status, took"), expected);
    await lab.drain();
    deepStrictEqual(await lab.rows("raw, status, took"), expected);
    equal((await lab.query("SELECT count(*) FROM app WHERE took > 1")).rows[0]?.[0], 1);
  },
});

Deno.test({
  name: "an index that was dropped and made again has its own rows alone",
  async fn() {
    await using lab = await openLab();
    await lab.indexes.create("svc", { config: NARROW, etag: "e1" });
    await lab.append(NARROW, [{ raw: "drained" }]);
    await lab.drain();
    await lab.append(NARROW, [{ raw: "sealed" }]);
    await lab.wal?.seal(LANE);
    await lab.append(NARROW, [{ raw: "active" }]);
    equal(await lab.indexes.drop(APP, { nowMs: 1 }), true);
    await rejects(lab.query("SELECT * FROM app"), { reason: "unknown_table" });

    await lab.indexes.create("svc", { config: NARROW, etag: "e2" });
    deepStrictEqual(await lab.rows("raw"), []);
    // An ingest server that has not heard of the drop sends these: they have the epoch before it.
    await lab.append(NARROW, [{ raw: "late" }]);
    await lab.append(NARROW, [{ raw: "new" }], { epoch: 1 });
    deepStrictEqual(await lab.rows("raw"), [["new"]]);
    await lab.drain();
    deepStrictEqual(await lab.rows("raw"), [["new"]]);
    equal(lab.discarded, 2, "the sealed segment, and the one with the rows active and late");
    deepStrictEqual(await lab.drain(), { rows: 0 });
  },
});

Deno.test({
  name: "a template gives an index that nobody made its columns, and its configuration stays",
  async fn() {
    await using lab = await openLab();
    const template = (fields: unknown[]) =>
      parseIndexTemplate({
        template_id: "t",
        index_id_patterns: ["ap*"],
        doc_mapping: { field_mappings: [TIME, ...fields] },
      });
    await lab.indexes.putTemplate("svc", template([{ name: "status", type: "long" }]));
    await lab.append(NARROW, [{ raw: "a", status: 1n }]);
    await lab.drain();
    deepStrictEqual(await lab.rows("raw, status"), [["a", 1]]);
    await lab.indexes.putTemplate("svc", template([{ name: "other", type: "bool" }]));
    const { indexes } = await lab.catalog.indexView("svc");
    deepStrictEqual(indexes.get("app")?.config, NARROW);
  },
});

Deno.test({
  name: "a bare SELECT is ordered newest first only when timestamp is the index's time field",
  async fn() {
    await using lab = await openLab();
    await lab.indexes.create("svc", { config: NARROW, etag: "e1" });
    const other = parseIndexConfig({
      ...config([{ name: "ts", type: "datetime", required: true }], { timestamp_field: "ts" }),
      index_id: "other",
    });
    await lab.indexes.create("svc", { config: other, etag: "e2" });
    for (const [table, applied] of [["app", true], ["other", false], ["events", true]] as const) {
      await using prepared = await lab.prepare(`SELECT raw FROM ${table}`, { defaultOrder: true });
      equal(prepared.defaultOrderApplied, applied, table);
    }
  },
});

async function openLab() {
  const lab = await EngineLab.open({ wal: true });
  const { files, clock, random, store, catalog } = lab;
  const indexes = await openIndexCatalog(`${lab.dir}/warehouse/catalog.db`, { files });
  const root = `${lab.dir}/wal`;
  let count = 0;
  const own = {
    indexes,
    discarded: 0,
    /**
     * Appends rows of `app`, each a microsecond later, as an ingest server with that configuration
     * does.
     */
    async append(
      { doc_mapping }: IndexConfig,
      rows: readonly RowObject[],
      { epoch = 0 }: { epoch?: number } = {},
    ): Promise<void> {
      ok(lab.wal !== undefined);
      const schema = { ...indexSchema(doc_mapping), epoch };
      const filled = rows.map((row) => {
        const ns = START_NS + BigInt(count++) * 1_000n;
        const core = { host: "h", source: "s", sourcetype: "t", index: "main", attributes: null };
        return { timestamp: ns / 1_000n, timestamp_ns: ns, ...core, ...row };
      });
      await lab.wal.append(LANE, encodeBatch(batchOfRows(schema, filled)), "auto");
    },
    async rows(columns: string) {
      return (await lab.query(`SELECT ${columns} FROM app ORDER BY timestamp_ns`)).rows;
    },
    async drain() {
      await lab.wal?.seal(LANE);
      const deps: DrainDeps = {
        wal: openWalReader(files, root),
        admin: openWalConsumerAdmin(files, clock, root),
        store,
        catalog,
        indexes,
        clock,
        random,
        encoder: INLINE_PARQUET_ENCODER,
        observer: { discarded: (_, segments) => own.discarded += segments },
      };
      const { failures, poisoned, rows } = await drainAll(deps);
      deepStrictEqual([failures, poisoned], [[], 0]);
      return { rows };
    },
  };
  return Object.assign(own, {
    dir: lab.dir,
    catalog,
    wal: lab.wal,
    query: lab.query.bind(lab),
    prepare: lab.prepare.bind(lab),
    async [Symbol.asyncDispose]() {
      await indexes[Symbol.asyncDispose]();
      await lab[Symbol.asyncDispose]();
    },
  });
}
