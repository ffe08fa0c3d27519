import assert from "node:assert/strict";
import { present } from "../base/assert.ts";
import { DAMAGED_FILE } from "../base/damaged_file.ts";
import { isOperatingError } from "../base/errors.ts";
import { sumInName } from "../base/summed_uuid.ts";
import { rowsOf } from "../columns/rows.ts";
import { commitAppend, ensureTable } from "../iceberg/commit_append.ts";
import { dataFileKey } from "../iceberg/locations.ts";
import { IcebergReader } from "../iceberg/iceberg_reader.ts";
import { uuidV4 } from "../os/random.ts";
import { parseFooter } from "../parquet/footer.ts";
import { readParquet } from "../parquet/read_parquet.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { MemoryStore } from "../testing/memory_store.ts";
import type { ReadableStore } from "../storage/object_store.ts";
import { batchOf, DrainLab } from "../testing/drain_lab.ts";
import { flipped, flippedStore } from "../testing/flipped_store.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { DataFileWriter } from "./data_file_writer.ts";
import { verifyFile } from "./verify_file.ts";

const IDENT = { namespace: "svc", name: "events" };
const MAGIC = 4;
/** A prime, so that each bit has its turn. */
const METADATA_STEP = 13;

/** A table of two commits in memory; `rows` each. */
async function tableOf(lab: DrainLab, rows: number) {
  const store = new MemoryStore();
  const deps = { ...lab.deps, store };
  const table = await ensureTable(deps, { ident: IDENT, schema: EVENTS_SCHEMA });
  for (let commit = 0; commit < 2; commit += 1) {
    const writer = new DataFileWriter(deps, table);
    await writer.add(batchOf(Array.from({ length: rows }, (_, at) => commit * rows + at)));
    const files = await writer.finish();
    await commitAppend(deps, { ident: IDENT, schema: EVENTS_SCHEMA, files, consumed: [] });
  }
  const pointer = present(await deps.catalog.metadataLocation(IDENT));
  const reader = new IcebergReader(store);
  const { files } = await reader.selectFiles(await reader.loadTable(IDENT, pointer));
  return { store, table, pointer, files };
}

Deno.test("verifyFile finds every file of a table intact, and says that each has sums", async () => {
  await using lab = await DrainLab.open();
  const { store, files } = await tableOf(lab, 30_000);
  const byKey = new Map(files.map((file) => [file.key, file]));
  let checked = 0;
  for await (const { key, size } of store.list("")) {
    const { damage, isSummed, byteLength } = await verifyFile(store, byKey.get(key) ?? { key });
    assert.deepEqual({ key, damage, isSummed, byteLength }, {
      ...{ key, damage: [], isSummed: true, byteLength: size },
    });
    checked += 1;
  }
  // Data files and sidecars; two manifests and lists, three metadata files.
  assert.equal(checked, 2 * files.length + 7);
});

Deno.test("verifyFile tells each flipped byte of each kind of file, and where it is", async () => {
  await using lab = await DrainLab.open();
  const { store } = await tableOf(lab, 3);
  for await (const { key, size } of store.list("")) {
    const blind: number[] = [];
    for (let at = 0; at < size; at += 1) {
      const flip = { key, at, bit: at % 8 };
      const { damage } = await verifyFile(flippedStore(store, flip), { key, byteLength: size });
      if (damage.length === 0) blind.push(at);
      for (const { offset, byteLength } of damage) {
        assert.ok(offset <= at && at < offset + byteLength, `${key} ${at}: ${offset}`);
      }
    }
    // Nothing is read of the magic number at the start, nor of that behind a sidecar's blobs.
    const blindMax = key.endsWith(".parquet") ? MAGIC : key.endsWith(".puffin") ? 2 * MAGIC : 0;
    assert.ok(blind.length <= blindMax, `${key} is blind at ${blind}`);
  }
});

Deno.test("verifyFile tells a file that was cut, that grew, that has other rows, or is another's", async () => {
  await using lab = await DrainLab.open();
  const { store, files: [file, other] } = await tableOf(lab, 3);
  const { key, byteLength, rows } = present(file);
  const bytes = await store.get(key);
  const longer = new Uint8Array(byteLength + 1);
  longer.set(bytes);
  const stored = [bytes.slice(0, -1), bytes.slice(0, 40), longer, new Uint8Array(byteLength)];
  stored.push(await store.get(present(other).key));
  for (const [at, wrong] of stored.entries()) {
    const damaged = new MemoryStore();
    await damaged.putNew(key, wrong);
    assert.notDeepEqual((await verifyFile(damaged, { key, byteLength })).damage, [], `${at}`);
  }
  const { damage } = await verifyFile(store, { key, byteLength, rows: rows + 1 });
  assert.match(present(damage[0]).what, /has 3 rows and should have 4/);
  await assert.rejects(
    verifyFile(store, { key: "no/such.parquet" }),
    (error) => isOperatingError(error, "not_found"),
  );
});

Deno.test("verifyFile reads a file without sums through, in blocks, and says so", async () => {
  await using lab = await DrainLab.open();
  const { store, table, files: [file] } = await tableOf(lab, 30_000);
  const bytes = (await store.get(present(file).key)).slice();
  // A text of the same length: another program knows no such entry.
  const entry = Buffer.from(bytes.buffer).lastIndexOf("svc.chunk-sums");
  bytes.set(new TextEncoder().encode("svc.chunk-none"), entry);
  const key = dataFileKey(table, 0, uuidV4(new SeededRandom(1)));
  await store.putNew(key, bytes);
  let paced = 0;
  const pace = (count: number) => {
    assert.ok(count <= 1024 * 1024);
    paced += count;
  };
  const check = await verifyFile(store, { key }, { pace });
  assert.deepEqual(check, { byteLength: bytes.byteLength, damage: [], isSummed: false });
  assert.ok(paced >= bytes.byteLength);
});

Deno.test("readParquet gives the rows that were written or an error, whatever byte is flipped", async () => {
  await using lab = await DrainLab.open();
  const { store, files: [file] } = await tableOf(lab, 3);
  const { key } = present(file);
  const bytes = await store.get(key);
  const truth = await numbersOf(bytes, key);
  for (let at = 0; at < bytes.byteLength; at += 1) {
    const wrong = flipped(bytes, { at, bit: (at * 5) % 8 });
    try {
      assert.deepEqual(await numbersOf(wrong, key), truth, `byte ${at}`);
      assert.ok(at < MAGIC, `byte ${at} is not told`);
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      assert.ok(isOperatingError(error, "corrupt") && error.reason === DAMAGED_FILE, `${error}`);
    }
  }
});

Deno.test("readParquet tells a flipped page of a file whose name and footer carry no sums", async () => {
  await using lab = await DrainLab.open();
  const { store, files: [file] } = await tableOf(lab, 300);
  const bytes = (await store.get(present(file).key)).slice();
  const entry = Buffer.from(bytes.buffer).lastIndexOf("svc.chunk-sums");
  bytes.set(new TextEncoder().encode("svc.chunk-none"), entry);
  const truth = await numbersOf(bytes, "a file");
  let told = 0;
  const end = present(parseFooter(bytes, "a file").rowGroups[0]).byteLength + MAGIC;
  for (let at = MAGIC; at < end; at += 1) {
    const answer = await numbersOf(flipped(bytes, { at, bit: at % 8 }), "a file").catch(() => {
      told += 1;
      return truth;
    });
    // Headers of pages have no sum here: what they say is checked, as far as it can be.
    if (answer !== truth) assert.equal(answer.length, truth.length);
  }
  assert.ok(told > 0.8 * (end - MAGIC), `${told} of ${end - MAGIC}`);
});

Deno.test("IcebergReader selects the files that are there or fails, whatever is flipped of the metadata", async () => {
  await using lab = await DrainLab.open();
  const { store, pointer, files } = await tableOf(lab, 3);
  const select = async (from: ReadableStore) => {
    const reader = new IcebergReader(from);
    const table = await reader.loadTable(IDENT, pointer);
    return { table: table.schema, files: (await reader.selectFiles(table)).files };
  };
  const truth = await select(store);
  assert.deepEqual(truth.files, files);
  let read = 0;
  for await (const { key, size } of store.list("")) {
    if (!key.includes("/metadata/")) continue;
    assert.notEqual(sumInName(key), undefined, key);
    let [told, flips] = [0, 0];
    for (let at = 0; at < size; at += METADATA_STEP, flips += 1) {
      const answer = await select(flippedStore(store, { key, at, bit: at % 8 })).catch((error) => {
        assert.ok(isOperatingError(error, "corrupt") && error.reason === DAMAGED_FILE, `${error}`);
        told += 1;
        return truth;
      });
      assert.deepEqual(answer, truth, `${key} ${at}`);
    }
    assert.ok(told === 0 || told === flips, `${key}: ${told} of ${flips}`);
    if (told > 0) read += 1;
  }
  // The current metadata, its list, and two manifests.
  assert.equal(read, 4);
});

async function numbersOf(bytes: Uint8Array, key: string): Promise<readonly unknown[]> {
  const rows: unknown[] = [];
  for await (const batch of readParquet(bytes, key)) rows.push(...rowsOf(batch));
  return rows;
}
