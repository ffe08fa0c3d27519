/**
 * Hot attributes get columns that no statement sees: as many as may be, of those that rows have,
 * from the own tenant's audit.
 */

import assert from "node:assert/strict";
import type { Catalog } from "../catalog/catalog.ts";
import { batchOfRows, type RowObject } from "../columns/rows.ts";
import { openStatementReader } from "../engine/predicate/statement_reader.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { parsePromotion } from "../schema/promoted.ts";
import { QUERY_AUDIT_SCHEMA } from "../schema/query_audit.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { commitAppend, ensureTable } from "../iceberg/commit_append.ts";
import { IcebergReader } from "../iceberg/iceberg_reader.ts";
import { INLINE_PARQUET_DECODER } from "../parquet/parquet_decoder.ts";
import { INLINE_PARQUET_ENCODER } from "../parquet/parquet_encoder.ts";
import { EngineLab, type LabEvent } from "../testing/engine_lab.ts";
import { SleeplessClock } from "../testing/sleepless_clock.ts";
import { DataFileWriter } from "../tables/data_file_writer.ts";
import { fitTo } from "../tables/fit_schema.ts";
import type { HotAttribute } from "./hot_attributes.ts";
import { applyMigration } from "../tables/migrate.ts";
import { PromoteSweep } from "./promote_sweep.ts";

const EVENTS: TableIdent = { namespace: "svc", name: "events" };
const AUDIT: TableIdent = { namespace: "svc", name: "query_audit" };
const TODAY_MS = Date.UTC(2026, 10, 20, 12);
const DAY_MS = 86_400_000;

const reading = (attribute: string, table = "events") =>
  `SELECT raw FROM ${table} WHERE attr_get(attributes, '${attribute}') = 'v1'`;

/** The sweep over a warehouse of its own, with a clock that the test moves. */
class PromoteLab implements AsyncDisposable {
  readonly clock = new SleeplessClock(TODAY_MS);
  readonly promoted: [table: string, attribute: string][] = [];
  opened = 0;

  private constructor(readonly lab: EngineLab) {}

  static async open(): Promise<PromoteLab> {
    return new PromoteLab(await EngineLab.open());
  }

  sweep(columnsMax: number, catalog: Catalog = this.lab.catalog): PromoteSweep {
    return new PromoteSweep({
      ...this.deps,
      catalog,
      decoder: INLINE_PARQUET_DECODER,
      observer: {
        promoted: ({ namespace, name }, attributes: readonly HotAttribute[]) => {
          for (const { attribute } of attributes) {
            this.promoted.push([`${namespace}.${name}`, attribute]);
          }
        },
      },
    }, {
      columnsMax,
      openStatements: () =>
        openStatementReader({
          files: this.lab.files,
          scratchDir: `${this.lab.dir}/reader-${this.opened += 1}`,
        }),
    });
  }

  get deps() {
    const { store, catalog, random } = this.lab;
    return { store, catalog, random, clock: this.clock, encoder: INLINE_PARQUET_ENCODER };
  }

  run(columnsMax = 2): Promise<boolean> {
    return this.sweep(columnsMax).run(AUDIT, new AbortController().signal);
  }

  /**
   * `statements` as they were asked `times` times on each of the days so long ago, with an answer.
   */
  async asked(
    statements: readonly string[],
    { times = 40, daysAgo = [0, 1, 2], fields = {} }: {
      readonly times?: number;
      readonly daysAgo?: readonly number[];
      readonly fields?: RowObject;
    } = {},
  ): Promise<void> {
    for (const days of daysAgo) {
      const rows = statements.flatMap((query) =>
        Array.from(
          { length: times },
          (_, at) => auditRow(TODAY_MS - days * DAY_MS + at, query, fields),
        )
      );
      await this.lab.commitRows(rows, { ident: AUDIT, schema: QUERY_AUDIT_SCHEMA });
    }
  }

  /** Rows as a drain commits them. */
  async drained(rows: readonly LabEvent[], ident = EVENTS): Promise<void> {
    const table = await ensureTable(this.deps, { ident, schema: EVENTS_SCHEMA });
    const writer = new DataFileWriter(this.deps, table);
    const batch = batchOfRows(EVENTS_SCHEMA, rows.map(eventRow));
    await writer.add(fitTo(table.schema, EVENTS_SCHEMA.columns)(batch));
    const change = { ident, schema: EVENTS_SCHEMA, consumed: [] };
    await commitAppend(this.deps, { ...change, files: await writer.finish() });
  }

  async table(ident = EVENTS) {
    const location = await this.lab.catalog.metadataLocation(ident);
    assert.ok(location !== undefined);
    return await new IcebergReader(this.lab.store).loadTable(ident, location);
  }

  async columns(ident = EVENTS): Promise<readonly string[]> {
    return (await this.table(ident)).schema.promoted ?? [];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.lab[Symbol.asyncDispose]();
  }
}

const rowsWith = (attributes: (at: number) => string, count = 20): LabEvent[] =>
  Array.from({ length: count }, (_, at) => ({
    ns: BigInt(TODAY_MS) * 1_000_000n + BigInt(at) * 1_000_000n,
    raw: `row ${at}`,
    attributes: attributes(at),
  }));

const VALUES = rowsWith((at) => `{"a":"v${at % 3}","b":${at},"c":"v1","d.e":"v${at % 2}"}`);

Deno.test({
  name: "what statements keep asking for gets columns, the most wanted first and so many at most",
  async fn() {
    await using lab = await PromoteLab.open();
    await lab.drained(VALUES);
    await lab.asked([reading("b"), reading("a"), reading("a"), reading("c"), reading("nowhere")]);
    const before = (await lab.table()).metadataLocation;
    assert.equal(await lab.run(2), false);
    assert.deepEqual(await lab.columns(), ["attributes:a", "attributes:b"]);
    assert.deepEqual(lab.promoted, [["svc.events", "a"], ["svc.events", "b"]]);
    const { metadata, metadataLocation, schema } = await lab.table();
    assert.equal(metadata["metadata-log"].at(-1)?.["metadata-file"], before, "one commit");
    assert.deepEqual(schema.columns.slice(8).map(({ type }) => type), ["string", "string"]);

    await lab.run(2);
    assert.equal((await lab.table()).metadataLocation, metadataLocation, "nothing is left to do");
    await lab.run(3);
    assert.deepEqual(await lab.columns(), ["attributes:a", "attributes:b", "attributes:c"]);
    await lab.run(1);
    assert.equal((await lab.columns()).length, 3, "none goes");
  },
});

Deno.test({
  name:
    "statements answer the same before a hot attribute is promoted, after, and once rows fill it",
  async fn() {
    await using lab = await PromoteLab.open();
    await lab.drained(VALUES);
    await lab.asked([reading("a"), reading("d.e")]);
    const statements = [
      "SELECT * FROM events WHERE attr_get(attributes, 'a') = 'v1' ORDER BY raw",
      "SELECT e.* EXCLUDE (raw) FROM events e WHERE attr_get(e.attributes, 'd.e') = 'v1' ORDER BY ALL",
      "SELECT raw, * FROM events WHERE attr_get(attributes, 'a') LIKE 'v_' AND attr_get(attributes, 'd.e') <> 'v0' ORDER BY raw",
      "SELECT events FROM events WHERE attr_get(attributes, 'a') = 'v1' ORDER BY raw",
      "SELECT COLUMNS('a.*') FROM events WHERE attr_get(attributes, 'a') = 'v1' ORDER BY ALL",
      "SELECT count(*) FROM events WHERE attr_get(attributes, 'a') IN ('v0', 'v2')",
      "SELECT attr_get(attributes, 'a') AS a, count(*) AS n FROM events WHERE attr_get(attributes, 'd.e') = 'v1' GROUP BY a ORDER BY a",
      "SELECT upper(attr_get(attributes, 'a')) AS a FROM events WHERE a = 'V1' AND attr_get(attributes, 'a') = 'v1' ORDER BY 1",
      "SELECT * FROM events ORDER BY raw",
    ];
    const answers = async () => {
      const all = [];
      for (const sql of statements) {
        const { columns, types, texts } = await lab.lab.query(sql);
        all.push({ sql, columns, types, texts });
      }
      return all;
    };
    const before = await answers();
    await lab.run();
    assert.deepEqual([...await lab.columns()].sort(), ["attributes:a", "attributes:d.e"]);
    assert.deepEqual(await answers(), before);
    await assert.rejects(lab.lab.query('SELECT "attributes:a" FROM events'), /attributes:a/);

    await lab.drained(
      rowsWith(() => '{"a":"v7","d.e":"v7"}').map((row) => ({ ...row, raw: "later" })),
    );
    const [sql = ""] = statements;
    await using half = await lab.lab.prepare(sql);
    assert.match(await half.explain(), /COALESCE[^]*attributes:a/i);
    const counted = "SELECT count(*) FROM events WHERE attr_get(attributes, 'a') = 'v7'";
    assert.deepEqual((await lab.lab.query(counted)).rows, [[20]]);
  },
});

Deno.test({
  name: "attributes are promoted for their own tenant's statements alone",
  async fn() {
    await using lab = await PromoteLab.open();
    const acme = { namespace: "acme", name: "events" };
    for (const ident of [EVENTS, acme]) await lab.drained(VALUES, ident);
    await lab.asked([reading("a"), reading("b", "svc.events")], {
      fields: { tenant: "acme" },
    });
    await lab.run();
    assert.deepEqual(await lab.columns(), []);
    assert.deepEqual(await lab.columns(acme), ["attributes:a"]);
    const other = new AbortController().signal;
    assert.equal(await lab.sweep(2).run(acme, other), false, "of no other table");
  },
});

const NOT_ASKED: readonly [name: string, RowObject][] = [
  ["statements that failed", { status: 400 }],
  ["statements that were only explained", { endpoint: "sql_explain" }],
  ["addresses of traces", { endpoint: "trace" }],
];

for (const [name, fields] of NOT_ASKED) {
  Deno.test(`${name} promote nothing`, async () => {
    await using lab = await PromoteLab.open();
    await lab.drained(VALUES);
    await lab.asked([reading("a")], { fields });
    await lab.run();
    assert.deepEqual(await lab.columns(), []);
  });
}

Deno.test({
  name: "what rows lack, what no column could hold and what has a column is not promoted",
  async fn() {
    await using lab = await PromoteLab.open();
    await lab.drained(
      rowsWith((at) =>
        `{"f":${at}.5,"o":{"a":1},"l":[1],"rare":${at < 1 ? 1 : null},"tenth":${at < 2}}`
      ),
    );
    await applyMigration(lab.deps, EVENTS, [
      parsePromotion("l:string"),
      parsePromotion("f:double"),
    ]);
    await lab.asked(["f", "o", "l", "rare", "tenth", "none"].map((name) => reading(name)));
    await lab.run(9);
    assert.deepEqual(await lab.columns(), ["l", "f", "attributes:tenth"]);
  },
});

Deno.test({
  name: "a table that is not there, has no attributes or waits for migrate-schema is left alone",
  async fn() {
    await using lab = await PromoteLab.open();
    const older = { namespace: "acme", name: "events" };
    const plain = { namespace: "acme", name: "plain" };
    const without = (column: string) => ({
      columns: EVENTS_SCHEMA.columns.filter(({ name }) => name !== column),
      tags: [],
    });
    await ensureTable(lab.deps, { ident: plain, schema: without("attributes") });
    await lab.lab.commitRows(VALUES.map(eventRow), { ident: older, schema: without("sourcetype") });
    const tables = [plain, older];
    const places = () =>
      Promise.all(tables.map(async (ident) => (await lab.table(ident)).metadataLocation));
    const before = await places();
    await lab.asked(["plain", "events", "nowhere"].map((table) => reading("a", table)), {
      fields: { tenant: "acme" },
    });
    await lab.run();
    const after = await places();
    assert.deepEqual(after, before);
    assert.deepEqual(lab.promoted, []);
  },
});

Deno.test({
  name: "a table that cannot be promoted in does not keep others from it",
  async fn() {
    await using lab = await PromoteLab.open();
    await lab.drained(VALUES);
    // Ids of its columns are those of others in a table of that name.
    await lab.drained(VALUES, { namespace: "svc", name: "traces" });
    await lab.asked([reading("a", "traces"), reading("a", "traces"), reading("a")]);
    await assert.rejects(lab.run(), /an id of its own/);
    assert.deepEqual(await lab.columns(), ["attributes:a"]);
  },
});

Deno.test({
  name:
    "an audit that is absent, damaged or of another's making promotes nothing, and its whole files count",
  async fn() {
    await using lab = await PromoteLab.open();
    await lab.drained(VALUES);
    assert.equal(await lab.run(), false);
    assert.equal(lab.opened, 0, "without statements the parser is not loaded");
    await lab.asked([reading("a")], { times: 120, daysAgo: [3, 4, 5] });
    await lab.asked([reading("b")], { daysAgo: [0, 1, 2] });
    const { files } = await new IcebergReader(lab.lab.store).selectFiles(await lab.table(AUDIT));
    const oldest = files.slice(0, 2);
    for (const [at, { key }] of oldest.entries()) {
      const bytes = await lab.lab.store.get(key);
      await lab.lab.store.delete([key]);
      if (at === 0) await lab.lab.store.putNew(key, bytes.subarray(0, bytes.byteLength >> 1));
    }
    await lab.run();
    assert.deepEqual(await lab.columns(), ["attributes:b"]);

    await using foreign = await PromoteLab.open();
    await foreign.drained(VALUES);
    await foreign.drained(VALUES, AUDIT);
    assert.equal(await foreign.run(), false);
    assert.deepEqual(await foreign.columns(), []);
  },
});

Deno.test({
  name: "a day that is over is read once, today each time, and what is older than a week no more",
  async fn() {
    await using lab = await PromoteLab.open();
    await lab.drained(VALUES);
    await lab.asked([reading("a")], { daysAgo: [0, 4, 6, 7] });
    const sweep = lab.sweep(2);
    const run = () => sweep.run(AUDIT, new AbortController().signal);
    await run();
    assert.equal(lab.opened, 3, "of the eighth day nothing");
    assert.deepEqual(await lab.columns(), ["attributes:a"]);
    await run();
    assert.equal(lab.opened, 4, "of today alone");
    lab.clock.shift(DAY_MS);
    await run();
    assert.equal(lab.opened, 5, "the first day that is over");
    await run();
    assert.equal(lab.opened, 5);
  },
});

Deno.test({
  name: "two compactors at once give a table as many columns as one may",
  async fn() {
    await using lab = await PromoteLab.open();
    await lab.drained(VALUES);
    await lab.asked([reading("a"), reading("b"), reading("c"), reading("d.e")]);
    const signal = new AbortController().signal;
    await Promise.all([1, 2, 3].map((max) => lab.sweep(max).run(AUDIT, signal)));
    const columns = await lab.columns();
    assert.equal(new Set(columns).size, 3, columns.join());
  },
});

function auditRow(ms: number, query: string, fields: RowObject): RowObject {
  return {
    timestamp: BigInt(ms) * 1_000n,
    timestamp_ns: BigInt(ms) * 1_000_000n,
    tenant: "default",
    endpoint: "sql",
    query,
    priority: "interactive",
    duration_ms: 1,
    status: 200,
    truncated: 0,
    ...fields,
  };
}

function eventRow({ ns, raw = "", attributes = null }: LabEvent): RowObject {
  return {
    timestamp: ns / 1_000n,
    timestamp_ns: ns,
    host: "h",
    source: "s",
    sourcetype: "t",
    index: "main",
    raw,
    attributes,
  };
}
