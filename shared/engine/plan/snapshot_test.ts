import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { CatalogReader, TableView } from "../../catalog/catalog.ts";
import type { TableIdent } from "../../tenant/tenant.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { openSqliteCatalog } from "../../catalog/sqlite_catalog.ts";

const START_NS = 1_790_000_000_000_000_000n;

function numbered(first: number, count: number) {
  return Array.from({ length: count }, (_, i) => ({
    ns: START_NS + BigInt(first + i),
    raw: String(first + i),
  }));
}

Deno.test({
  name: "readSnapshot rows are visible at once, and neither twice nor gone after the drain",
  fn: async () => {
    await using lab = await EngineLab.open({ wal: true });
    const count = async () =>
      (await lab.query("SELECT count(*), count(DISTINCT raw) FROM events")).rows[0];
    const segment = await lab.append(numbered(0, 10));
    deepStrictEqual(await count(), [10, 10]);
    await lab.append(numbered(10, 5));
    deepStrictEqual(await count(), [15, 15]);
    await lab.wal?.seal({ tenant: "default", index: "events" });
    deepStrictEqual(await count(), [15, 15]);
    await lab.commit(numbered(0, 15), { consumed: [segment] });
    deepStrictEqual(await count(), [15, 15]);
    await lab.append(numbered(15, 1));
    deepStrictEqual(await count(), [16, 16]);
  },
});

/** Lets something happen right before the catalog is read. */
class MeddledCatalog implements CatalogReader {
  before: (() => Promise<void>) | undefined;
  after: (() => Promise<void>) | undefined;

  constructor(public inner: CatalogReader) {}

  async readView(ident: TableIdent, segments: readonly string[]): Promise<TableView> {
    const [before, after] = [this.before, this.after];
    this.before = this.after = undefined;
    await before?.();
    const view = await this.inner.readView(ident, segments);
    await after?.();
    return view;
  }

  namespaces = () => this.inner.namespaces();
  tables = (namespace: string) => this.inner.tables(namespace);
  tableSchemas = (namespace: string) => this.inner.tableSchemas(namespace);
  metadataLocation = (ident: TableIdent) => this.inner.metadataLocation(ident);
  consumedOf = (segments: readonly string[]) => this.inner.consumedOf(segments);
  indexState = (ident: TableIdent) => this.inner.indexState(ident);
  indexView = (namespace: string) => this.inner.indexView(namespace);
  indexViews = () => this.inner.indexViews();
  ping = () => this.inner.ping();
  close = () => this.inner.close();
  [Symbol.asyncDispose] = () => this.inner.close();
}

Deno.test({
  name: "readSnapshot a drain between its steps neither doubles nor hides a row",
  fn: async (t) => {
    for (const moment of ["before", "after"] as const) {
      await t.step(`${moment} the catalog is read`, async () => {
        const meddled = new MeddledCatalog(await openSqliteCatalog({ path: ":memory:" }));
        await using lab = await EngineLab.open({ wal: true, engine: { catalog: meddled } });
        // The lab opens its catalog after the engine's is given: from here on they are the same.
        meddled.inner = lab.catalog;
        const segment = await lab.append(numbered(0, 20));
        await lab.wal?.seal({ tenant: "default", index: "events" });
        meddled[moment] = () => lab.commit(numbered(0, 20), { consumed: [segment] });
        strictEqual((await lab.query("SELECT count(*) FROM events")).rows[0]?.[0], 20);
        strictEqual((await lab.query("SELECT count(*) FROM events")).rows[0]?.[0], 20);
      });
    }
  },
});

Deno.test({
  name: "readSnapshot a lane without a table has its segments' columns",
  fn: async () => {
    await using lab = await EngineLab.open({ wal: true });
    await lab.append(numbered(0, 3), { tenant: "default", index: "web" });
    deepStrictEqual((await lab.query("SELECT count(*) FROM web WHERE raw >= '1'")).rows, [[2]]);
  },
});

Deno.test({
  name: "readSnapshot a tenant sees only its own lane and namespace",
  fn: async () => {
    await using lab = await EngineLab.open({ wal: true });
    await lab.append(numbered(0, 3), { tenant: "acme", index: "events" });
    await lab.append(numbered(0, 1));
    const mine = { tenant: "acme", namespace: "acme" };
    deepStrictEqual((await lab.query("SELECT count(*) FROM events")).rows, [[1]]);
    deepStrictEqual((await lab.query("SELECT count(*) FROM events", mine)).rows, [[3]]);
    deepStrictEqual((await lab.query("SELECT count(*) FROM acme.events", mine)).rows, [[3]]);
  },
});

Deno.test({
  name: "readSnapshot does not double the rows of a segment that the catalog forgot",
  fn: async () => {
    const meddled = new MeddledCatalog(await openSqliteCatalog({ path: ":memory:" }));
    await using lab = await EngineLab.open({ wal: true, engine: { catalog: meddled } });
    meddled.inner = lab.catalog;
    const segment = await lab.append(numbered(0, 20));
    await lab.wal?.seal({ tenant: "default", index: "events" });
    await lab.commit(numbered(0, 20), { consumed: [segment] });
    meddled.readView = async (ident, segments) => ({
      ...await lab.catalog.readView(ident, segments),
      consumed: new Set(),
    });
    const { rows } = await lab.query("SELECT count(*), count(DISTINCT raw) FROM events");
    deepStrictEqual(rows, [[20, 20]]);
  },
});
