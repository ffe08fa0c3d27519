/**
 * A catalog file with changed bits: it fails with an operating error, or answers as before.
 * `SVC_TEST_CATALOG_FLIPS=2000` changes more of them.
 */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { DatabaseSync } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import { isOperatingError } from "../base/errors.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import type { CatalogReader } from "./catalog.ts";
import { openIndexCatalog, openMaintenanceCatalog } from "./open_catalog_parts.ts";
import { openCatalog, openCatalogReader } from "./open_catalog.ts";

const SEED = 20261123;
const FLIPS = Number(Deno.env.get("SVC_TEST_CATALOG_FLIPS") ?? 150);
const SEGMENT = "1795208645000-0000-0123456789abcdef.seg";
/** Consumed, and not folded. */
const LEFT = "1795208645001-0000-0123456789abcdef.seg";
/** Never consumed. */
const OTHER = "1795208645002-0000-0123456789abcdef.seg";
const TABLE = { namespace: "svc", name: "events" };

Deno.test({
  name: `a SQLite catalog with any bit changed fails, or answers as before: seed ${SEED}`,
  async fn() {
    const dir = await Deno.makeTempDir({ prefix: "svc-catalog-damage-" });
    try {
      const files = new DenoFileSystem();
      const whole = `${dir}/whole.db`;
      await fill(whole, files);
      const bytes = await Deno.readFile(whole);
      const expected = await askReader(whole);
      // Most of its pages are empty.
      const written = [...bytes.keys()].filter((at) => bytes[at] !== 0);
      const random = new SeededRandom(SEED);
      let failed = 0;
      const wrong: string[] = [];
      for (let at = 0; at < FLIPS; at += 1) {
        const damaged = bytes.slice();
        const place = written[random.below(written.length)] ?? 0;
        const bit = random.below(8);
        damaged[place] = (damaged[place] ?? 0) ^ (1 << bit);
        const path = `${dir}/damaged.db`;
        for (const [who, ask] of Object.entries(ASKERS)) {
          await forget(path);
          await Deno.writeFile(path, damaged);
          const answer = await answerOf(() => ask(path, files), `byte ${place}, ${who}`);
          failed += Number(answer === undefined);
          if (answer !== undefined && !isDeepStrictEqual(answer, expected)) {
            wrong.push(`byte ${place}, bit ${bit}, ${who}`);
          }
        }
      }
      assert.deepEqual(wrong, []);
      assert.ok(failed > FLIPS, `only ${failed} failures`);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

Deno.test({
  name:
    "a SQLite catalog takes rows, tables and columns of other engines, and finds damage in theirs",
  async fn() {
    const dir = await Deno.makeTempDir({ prefix: "svc-catalog-foreign-" });
    try {
      const files = new DenoFileSystem();
      const path = `${dir}/catalog.db`;
      await fill(path, files);
      const open = () => new DatabaseSync(path);
      {
        using db = open();
        db.exec("ALTER TABLE iceberg_tables ADD COLUMN theirs TEXT");
        db.exec("CREATE TABLE theirs (a TEXT)");
        db.exec(
          "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, " +
            "metadata_location, theirs) VALUES ('svc', 'svc', 'guests', 'file:///g/0.json', 'x')",
        );
        const moved = db.prepare(
          "UPDATE iceberg_tables SET metadata_location = 'file:///g/1.json' " +
            "WHERE table_name = 'guests' AND metadata_location = 'file:///g/0.json'",
        ).run();
        // SQLAlchemy counts the rows that it moved.
        assert.equal(moved.changes, 1);
      }
      {
        await using catalog = await openCatalogReader(path, "--catalog");
        assert.deepEqual(await catalog.tables("svc"), ["events", "guests"]);
        const location = await catalog.metadataLocation({ namespace: "svc", name: "guests" });
        assert.equal(location, "file:///g/1.json");
      }
      {
        using db = open();
        db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      }
      const bytes = await Deno.readFile(path);
      const place = Buffer.from(bytes).indexOf("file:///g/1.json") + 8;
      bytes[place] = (bytes[place] ?? 0) ^ 1;
      await Deno.writeFile(path, bytes);
      await using catalog = await openCatalogReader(path, "--catalog");
      await assert.rejects(
        catalog.tables("svc"),
        (error) => isOperatingError(error, "corrupt") && /damaged/.test(error.message),
      );
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

Deno.test({
  name: "a SQLite catalog of an earlier release gets its copies from its first writer",
  async fn() {
    const dir = await Deno.makeTempDir({ prefix: "svc-catalog-earlier-" });
    try {
      const files = new DenoFileSystem();
      const path = `${dir}/catalog.db`;
      await fill(path, files);
      const copies = (db: DatabaseSync) =>
        db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'svc_copy%'")
          .all().map(({ name }) => String(name));
      {
        using db = new DatabaseSync(path);
        const triggers = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all();
        for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
        for (const name of copies(db)) db.exec(`DROP TABLE ${name}`);
      }
      const before = await askReader(path);
      assert.deepEqual(await askWriter(path, files), before);
      using db = new DatabaseSync(path);
      assert.ok(copies(db).length > 10);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

/** A catalog with something in each part that answers depend on. */
async function fill(path: string, files: DenoFileSystem): Promise<void> {
  await using catalog = await openCatalog(path, { files });
  await using _parts = await openMaintenanceCatalog(path, { files });
  await using _indexes = await openIndexCatalog(path, { files });
  await catalog.commit({
    ident: TABLE,
    expected: undefined,
    next: "file:///lake/svc/events/metadata/00000.metadata.json",
    consumed: [LEFT],
    tableUuid: "5f0c7a4e-0000-4000-8000-000000000001",
    snapshotId: 1n,
  });
  await catalog.foldConsumed([SEGMENT]);
  using db = new DatabaseSync(path);
  db.exec("INSERT INTO svc_index_epochs VALUES ('svc', 'dropped', 3, 1795208645000)");
}

type Answer = readonly unknown[];

async function ask(catalog: CatalogReader): Promise<Answer> {
  return [
    await catalog.namespaces(),
    await catalog.tables("svc"),
    await catalog.readView(TABLE, [SEGMENT, LEFT]),
    await catalog.consumedOf([SEGMENT, LEFT, OTHER]),
    await catalog.indexView("svc"),
  ];
}

async function askReader(path: string): Promise<Answer> {
  await using catalog = await openCatalogReader(path, "--catalog");
  return await ask(catalog);
}

async function askWriter(path: string, files: DenoFileSystem): Promise<Answer> {
  await using catalog = await openCatalog(path, { files });
  return await ask(catalog);
}

const ASKERS = { reader: askReader, writer: askWriter } as const;

/** What it answers; undefined where it failed, which is by an operating error. */
async function answerOf(use: () => Promise<Answer>, where: string): Promise<Answer | undefined> {
  try {
    return await use();
  } catch (error) {
    assert.ok(isOperatingError(error), `${where}: ${error}`);
    return undefined;
  }
}

async function forget(path: string): Promise<void> {
  for (const end of ["", "-wal", "-shm"]) await Deno.remove(path + end).catch(() => {});
}
