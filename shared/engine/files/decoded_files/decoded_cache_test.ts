import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Column } from "../../../schema/schema.ts";
import type { DataFile } from "../../../iceberg/types.ts";
import { DecodedCache, type Decoder, type WantedColumns } from "./decoded_cache.ts";

/** Bytes of each column's copy. */
const COLUMN_BYTES = 10;

function openLab(limits: { readonly bytesMax?: number; readonly entriesMax?: number } = {}) {
  const files = new Set<string>();
  const told: string[] = [];
  const made: string[] = [];
  const clock = { ms: 0 };
  const gate: { opened: Promise<void>; error: Error | undefined } = {
    opened: Promise.resolve(),
    error: undefined,
  };
  const cache = new DecodedCache({
    ...{ bytesMax: 1_000, entriesMax: 100, ...limits },
    dir: "/cache",
    remove: (path) => Promise.resolve(void files.delete(path)),
    nowMs: () => clock.ms,
    meter: {
      lookedUp: (outcome) => told.push(outcome),
      held() {},
      evicted: (entries) => told.push(`evicted ${entries}`),
      failed: () => told.push("failed"),
    },
  });
  const decoder: Decoder = {
    estimate: ({ columns }) => Promise.resolve(COLUMN_BYTES * columns.length),
    decode: async ({ file, columns }, path, signal) => {
      files.add(path);
      await gate.opened;
      signal.throwIfAborted();
      if (gate.error !== undefined) throw gate.error;
      made.push(`${file.key}:${columns.map(({ name }) => name).join("")}`);
      return COLUMN_BYTES * columns.length;
    },
  };
  /** A statement that reads these; which of them there were copies of. */
  const read = (...names: string[]) => {
    const statement = cache.nextStatement();
    const wanted = names.map(wantedOf);
    const taken = wanted.map((one) => cache.take(one, statement));
    cache.giveBack(taken.filter((one) => one !== undefined));
    wanted.forEach((one, at) => {
      if (taken[at] === undefined) cache.want(one, { statement, decoder });
    });
    return names.filter((_, at) => taken[at] !== undefined);
  };
  const readAll = async (...names: string[]) => {
    const found = read(...names);
    await cache.settled;
    ok(cache.bytes <= (limits.bytesMax ?? 1_000), `${cache.bytes} bytes`);
    ok(cache.entries <= (limits.entriesMax ?? 100), `${cache.entries} entries`);
    strictEqual(files.size, cache.entries);
    return found;
  };
  return { cache, clock, decoder, files, gate, made, read, readAll, told };
}

/** `f:ab` is the columns a and b of the file f. */
function wantedOf(name: string): WantedColumns {
  const [key, columns = ""] = name.split(":");
  return {
    file: { key } as DataFile,
    columns: [...columns].map((name): Column => ({
      ...{ id: name.charCodeAt(0), name, type: "long", required: false },
    })),
  };
}

Deno.test("DecodedCache has a copy of what was read once, also for fewer columns", async () => {
  const { cache, made, readAll } = openLab();
  deepStrictEqual(await readAll("f:ab", "g:a"), []);
  deepStrictEqual(await readAll("f:ba", "f:b", "g:ab"), ["f:ba", "f:b"]);
  deepStrictEqual(made, ["f:ab", "g:a", "g:ab"]);
  strictEqual(cache.entries, 2, "the copy of fewer columns made way for the one of more");
  deepStrictEqual(await readAll("g:a"), ["g:a"]);
});

Deno.test("DecodedCache makes a copy once for all who want it meanwhile", async () => {
  const { cache, gate, made, read } = openLab();
  const { promise, resolve } = Promise.withResolvers<void>();
  gate.opened = promise;
  for (let times = 0; times < 5; times += 1) deepStrictEqual(read("f:a"), []);
  resolve();
  await cache.settled;
  deepStrictEqual([made, read("f:a")], [["f:a"], ["f:a"]]);
});

Deno.test("DecodedCache lets the least recently used go for what is wanted again", async () => {
  for (const limits of [{ bytesMax: 2 * COLUMN_BYTES }, { entriesMax: 2 }]) {
    const { readAll, told } = openLab(limits);
    for (const name of ["f:a", "g:a", "f:a"]) await readAll(name);
    await readAll("h:a");
    deepStrictEqual(await readAll("f:a", "g:a"), ["f:a", "g:a"], "h was wanted once");
    await readAll("f:a");
    await readAll("h:a");
    deepStrictEqual(told.filter((one) => one.startsWith("evicted")), [], "both are used since");
    await readAll("h:a");
    deepStrictEqual(told.filter((one) => one.startsWith("evicted")), ["evicted 1"]);
    deepStrictEqual(await readAll("f:a", "g:a", "h:a"), ["f:a", "h:a"]);
  }
});

Deno.test("DecodedCache keeps what fits of a scan of more files than fit, over and over", async () => {
  const { made, readAll } = openLab({ entriesMax: 3 });
  const names = ["f:a", "g:a", "h:a", "i:a", "j:a", "k:a"];
  await readAll(...names);
  for (let times = 0; times < 5; times += 1) {
    deepStrictEqual(await readAll(...names), ["f:a", "g:a", "h:a"]);
  }
  strictEqual(made.length, 3);
});

Deno.test("DecodedCache removes nothing that a statement reads, and nothing larger than it comes in", async () => {
  const { cache, files, readAll } = openLab({ bytesMax: COLUMN_BYTES });
  await readAll("big:ab");
  await readAll("big:ab");
  await readAll("f:a");
  const held = cache.take(wantedOf("f:a"), cache.nextStatement());
  for (let times = 0; times < 3; times += 1) await readAll("g:a");
  deepStrictEqual([...files], [held?.path]);
  cache.giveBack(held === undefined ? [] : [held]);
  await readAll("g:a");
  deepStrictEqual(await readAll("g:a", "f:a", "big:ab"), ["g:a"]);
});

Deno.test("DecodedCache lets go of what one statement took more than once", async () => {
  const { cache, files, readAll } = openLab({ bytesMax: COLUMN_BYTES });
  await readAll("f:a");
  const statement = cache.nextStatement();
  const taken = [1, 2].flatMap(() => cache.take(wantedOf("f:a"), statement) ?? []);
  deepStrictEqual(taken.length, 2);
  cache.giveBack(taken);
  await readAll("g:a");
  await readAll("g:a");
  deepStrictEqual([await readAll("g:a"), files.size], [["g:a"], 1]);
});

Deno.test("DecodedCache that cannot write goes without, and tries again after a minute", async () => {
  const { clock, gate, made, readAll, told } = openLab();
  gate.error = new Error("the disk is full");
  await readAll("f:a");
  strictEqual(told.at(-1), "failed");
  gate.error = undefined;
  clock.ms = 59_999;
  await readAll("f:a");
  deepStrictEqual(made, []);
  clock.ms = 60_000;
  await readAll("f:a");
  deepStrictEqual([made, await readAll("f:a")], [["f:a"], ["f:a"]]);
});

Deno.test("DecodedCache that is closed gives up what it makes, and makes no more", async () => {
  const { cache, decoder, files, gate, made, read, told } = openLab();
  const { promise, resolve } = Promise.withResolvers<void>();
  gate.opened = promise;
  read("f:a", "g:a");
  const closing = cache[Symbol.asyncDispose]();
  resolve();
  await closing;
  cache.want(wantedOf("h:a"), { statement: cache.nextStatement(), decoder });
  await cache.settled;
  deepStrictEqual([made, [...files], told], [[], [], ["miss", "miss"]]);
});
