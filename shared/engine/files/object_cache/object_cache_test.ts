import { deepStrictEqual, ok, rejects, strictEqual, throws } from "node:assert/strict";
import { writeParquet } from "../../../parquet/write_parquet.ts";
import { batchOfRows } from "../../../columns/rows.ts";
import { DenoFileSystem } from "../../../os/deno_file_system.ts";
import type { File } from "../../../os/file_system.ts";
import { NUMBERED_SCHEMA } from "../../../testing/numbered_rows.ts";
import { RemoteStore } from "../../../testing/remote_store.ts";
import type { ByteRange } from "./byte_ranges.ts";
import type { CachedFile, FetchCaller } from "./cached_file.ts";
import type { FileLayout } from "./file_layout.ts";
import { ObjectCache, type ObjectCacheOptions } from "./object_cache.ts";
import { StoreReads } from "./store_reads.ts";

const NOBODY = new AbortController().signal;

interface Lab extends AsyncDisposable {
  readonly store: RemoteStore;
  readonly cache: ObjectCache;
  readonly dir: string;
  /** Leases object `name`, which holds `byteLength` bytes, and reads its footer. */
  open(name: string, caller?: FetchCaller): Promise<{ file: CachedFile; layout: FileLayout }>;
  readonly byteLength: number;
}

function callerOf(signal = NOBODY, name = "one"): FetchCaller {
  return { name, reads: new StoreReads(), signal };
}

async function openLab(options: Partial<ObjectCacheOptions> = {}): Promise<Lab> {
  const dir = await Deno.makeTempDir({ prefix: "object-cache-" });
  const store = new RemoteStore();
  const rows = Array.from({ length: 20_000 }, (_, i) => ({
    timestamp: BigInt(i),
    timestamp_ns: BigInt(i) * 1_000n,
    row: BigInt(Math.imul(i, 2_654_435_761)),
  }));
  const { bytes } = writeParquet([batchOfRows(NUMBERED_SCHEMA, rows)], {
    schema: NUMBERED_SCHEMA,
    effort: "none",
  });
  const cache = new ObjectCache({
    store,
    files: new DenoFileSystem(),
    dir,
    bytesMax: 2 ** 30,
    bytesInUseMax: 2 ** 30,
    ...options,
  });
  return {
    store,
    cache,
    dir,
    byteLength: bytes.byteLength,
    open: async (name, caller = callerOf()) => {
      const exists = (await Array.fromAsync(store.list(name))).length > 0;
      if (!exists) await store.putNew(name, bytes);
      const file = cache.lease({ key: name, byteLength: bytes.byteLength });
      return {
        file,
        layout: (await cache.layout(file, { tailBytes: 4_096, isWhole: false }, caller)).layout,
      };
    },
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

/** Whether `file` holds what the object does, in `range`. */
async function isTrue(lab: Lab, { file, range }: { file: CachedFile; range: ByteRange }) {
  const there = (await Deno.readFile(file.path)).subarray(range.start, range.end);
  const { key } = file.object;
  deepStrictEqual(there, (await lab.store.get(key)).subarray(range.start, range.end));
}

Deno.test({
  name: "ObjectCache.fill asks for one byte once, however many wait for it",
  fn: async () => {
    await using lab = await openLab();
    const { file, layout } = await lab.open("a");
    lab.store.reads.length = 0;
    const callers = Array.from({ length: 5 }, (_, at) => callerOf(NOBODY, `${at}`));
    const range = { start: 100, end: 60_000 };
    const missing = await Promise.all(
      callers.map((caller) => lab.cache.fill(file, [range], { caller, layout })),
    );
    deepStrictEqual(lab.store.reads, [{ key: "a", range }]);
    deepStrictEqual(missing, [true, true, true, true, true]);
    deepStrictEqual(callers.map(({ reads }) => reads.bytesFetched), [59_900, 0, 0, 0, 0]);
    // Only the new part of a range that overlaps is asked for.
    const [caller] = callers;
    ok(caller !== undefined);
    await Promise.all([
      lab.cache.fill(file, [{ start: 0, end: 70_000 }], { caller, layout }),
      lab.cache.fill(file, [{ start: 50_000, end: 70_000 }], { caller, layout }),
    ]);
    deepStrictEqual(lab.store.reads.slice(1).map((read) => read.range), [
      { start: 0, end: 100 },
      { start: 60_000, end: 70_000 },
    ]);
    strictEqual(await lab.cache.fill(file, [{ start: 0, end: 70_000 }], { caller, layout }), false);
    await isTrue(lab, { file, range: { start: 0, end: 70_000 } });
  },
});

Deno.test({
  name: "ObjectCache.fill gives the memory of each answer back once it is written",
  fn: async () => {
    await using lab = await openLab();
    const { file, layout } = await lab.open("a");
    const { store } = lab;
    const answers: Uint8Array[] = [];
    const getRange = store.getRange.bind(store);
    store.getRange = async (...asked) => {
      const bytes = await getRange(...asked);
      answers.push(bytes);
      return bytes;
    };
    const range = { start: 100, end: 60_000 };
    await lab.cache.fill(file, [range], { caller: callerOf(), layout });
    deepStrictEqual(answers.map(({ buffer }) => buffer.byteLength), [0]);
    await isTrue(lab, { file, range });
  },
});

Deno.test({
  name: "ObjectCache.fill ranges that lie close are one request, and those far apart are not",
  fn: async () => {
    await using lab = await openLab();
    const { file, layout } = await lab.open("a");
    lab.store.reads.length = 0;
    const caller = callerOf();
    await lab.cache.fill(file, [
      { start: 30_000, end: 40_000 },
      { start: 0, end: 10_000 },
      { start: 11_000, end: 20_000 },
    ], { caller, layout });
    deepStrictEqual(lab.store.reads.map(({ range }) => range), [
      { start: 0, end: 20_000 },
      { start: 30_000, end: 40_000 },
    ]);
    strictEqual(caller.reads.bytesFetched, 30_000);
  },
});

Deno.test({
  name: "ObjectCache keeps a file in use, and lets the least recently used idle ones go",
  fn: async () => {
    await using lab = await openLab({ bytesMax: 150_000 });
    const range = { start: 0, end: 70_000 };
    const held = [];
    for (const name of ["a", "b", "c"]) {
      const { file, layout } = await lab.open(name);
      await lab.cache.fill(file, [range], { caller: callerOf(), layout });
      held.push(file);
    }
    strictEqual(lab.cache.filesEvicted, 0);
    for (const file of held) await isTrue(lab, { file, range });
    const [a, b, c] = held;
    ok(a !== undefined && b !== undefined && c !== undefined);
    lab.cache.release([b]);
    strictEqual(lab.cache.filesEvicted, 1);
    for (const file of [a, c]) await isTrue(lab, { file, range });
    lab.cache.release([a, c]);
    ok(lab.cache.bytes <= 150_000);
  },
});

Deno.test({
  name: "ObjectCache an object that was evicted comes back at the same path, and no other has it",
  fn: async () => {
    await using lab = await openLab({ bytesMax: 0 });
    const range = { start: 0, end: 70_000 };
    const paths = new Set<string>();
    for (let round = 0; round < 20; round += 1) {
      const { file, layout } = await lab.open("a");
      await lab.cache.fill(file, [range], { caller: callerOf(), layout });
      await isTrue(lab, { file, range });
      paths.add(file.path);
      // Removed while the next round makes it anew.
      lab.cache.release([file]);
      strictEqual(lab.cache.bytes, 0);
    }
    strictEqual(paths.size, 1);
    strictEqual(lab.cache.filesEvicted, 20);
    strictEqual(paths.has((await lab.open("b")).file.path), false);
  },
});

Deno.test({
  name: "ObjectCache a statement that ends takes its unmade requests with it, not another's",
  fn: async () => {
    await using lab = await openLab();
    const { file, layout } = await lab.open("a");
    const gone = new AbortController();
    const range = { start: 0, end: 50_000 };
    let reads = 0;
    lab.store.onRead = async () => {
      reads += 1;
      await new Promise((resolve) => setTimeout(resolve, 20));
    };
    // Fills every place for a request, so that what follows waits in line.
    const others = await Promise.all(
      Array.from({ length: 48 }, (_, at) => lab.open(`other-${at}`)),
    );
    reads = 0;
    const busy = others.map((other) =>
      lab.cache.fill(other.file, [range], { caller: callerOf(), layout: other.layout })
    );
    const leaving = callerOf(gone.signal, "leaving");
    const first = lab.cache.fill(file, [range], { caller: leaving, layout });
    const second = lab.cache.fill(file, [range], { caller: callerOf(NOBODY, "stays"), layout });
    gone.abort(new Error("gone"));
    await rejects(first, /gone/);
    strictEqual(await second, true);
    await Promise.all(busy);
    strictEqual(leaving.reads.requests, 0);
    strictEqual(reads, 49);
    await isTrue(lab, { file, range });
  },
});

Deno.test({
  name: "ObjectCache.reserve refuses what running statements cannot hold together",
  fn: async () => {
    await using lab = await openLab({ bytesInUseMax: 100_000 });
    const { file: a } = await lab.open("a");
    const { file: b } = await lab.open("b");
    throws(() => lab.cache.reserve(100_001, new Set([a, b])), {
      code: "too_large",
      reason: "object_cache_too_small",
    });
    {
      using _room = lab.cache.reserve(50_000, new Set([a]));
      throws(() => lab.cache.reserve(50_000, new Set([b])), {
        code: "unavailable",
        reason: "object_cache_in_use",
        retryAfterSecs: 5,
      });
    }
    lab.cache.reserve(50_000, new Set([b]))[Symbol.dispose]();
  },
});

/** A disk with room for so many bytes. */
class SmallDisk extends DenoFileSystem {
  bytesFree = Infinity;

  override async openAppend(path: string): Promise<File> {
    const file = await super.openAppend(path);
    const writeAt = file.writeAt.bind(file);
    file.writeAt = async (bytes, offset) => {
      if (bytes.byteLength > this.bytesFree) throw new Error("No space left on device");
      this.bytesFree -= bytes.byteLength;
      await writeAt(bytes, offset);
    };
    return file;
  }

  override async remove(path: string): Promise<void> {
    await super.remove(path);
    this.bytesFree += 70_000;
  }
}

Deno.test({
  name: "ObjectCache a full disk costs idle files first, then says so and fills nothing",
  fn: async () => {
    const files = new SmallDisk();
    await using lab = await openLab({ files });
    const idle = await lab.open("idle");
    const range = { start: 0, end: 70_000 };
    await lab.cache.fill(idle.file, [range], { caller: callerOf(), layout: idle.layout });
    lab.cache.release([idle.file]);
    const { file, layout } = await lab.open("a");
    files.bytesFree = 1_000;
    await lab.cache.fill(file, [range], { caller: callerOf(), layout });
    strictEqual(lab.cache.filesEvicted, 1);
    await isTrue(lab, { file, range });
    files.bytesFree = 0;
    const more = { start: 70_000, end: 80_000 };
    await rejects(lab.cache.fill(file, [more], { caller: callerOf(), layout }), {
      code: "unavailable",
      reason: "cache_not_writable",
      retryAfterSecs: 5,
    });
    strictEqual(file.filled.missing(more).length, 1);
    files.bytesFree = Infinity;
    await lab.cache.fill(file, [more], { caller: callerOf(), layout });
    await isTrue(lab, { file, range: more });
  },
});
