import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { OperatingError } from "../../base/errors.ts";
import { batchOfRows } from "../../columns/rows.ts";
import { INLINE_DERIVER } from "../../derived/deriver.ts";
import type { RowQuery } from "../../derived/rows/row_query.ts";
import { sidecarKey } from "../../derived/sidecar.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { RemoteStore } from "../../testing/remote_store.ts";
import { TableLab } from "../../testing/table_lab.ts";
import { eventRow } from "../../testing/warehouse_lab.ts";
import { defaultIndexCacheSizes } from "./index_cache_sizes.ts";
import { SidecarIndexes } from "./sidecar_indexes.ts";

const MIB = 1024 ** 2;
const ROWS = 3_000;
const LARGE = { parsedBytesMax: 64 * MIB, blobBytesMax: 16 * MIB, blobEntriesMax: 128 };

/** A data file with its sidecar; row n has the word `wn`, runs of a quarter of all have `often`. */
async function openLab(sizes = LARGE, rows = ROWS) {
  await using tables = await TableLab.open();
  const file = {
    ...tables.newFile({ locationKey: "svc/events" }, { day: 20_000, rows }),
    location: "",
  };
  const values = Array.from({ length: rows }, (_, i) => {
    const raw = `row w${i} is here${i % 1_000 < 250 ? " often" : ""}`;
    return eventRow({ ns: BigInt(i) * 1_000n, host: `h${i % 3}`, raw });
  });
  const content = {
    schema: EVENTS_SCHEMA,
    rows,
    batches: [batchOfRows(EVENTS_SCHEMA, values)],
    text: [{ name: "raw", tokenizer: "default" as const }],
    rowGroupRows: 1_000,
  };
  const sidecar = await INLINE_DERIVER.derive(content, file);
  const withoutIndexes = await INLINE_DERIVER.derive({ ...content, text: undefined }, file);
  const store = new RemoteStore();
  await store.putNew(sidecarKey(file.key), sidecar);
  const told: string[] = [];
  const clock = { ms: 0 };
  const indexes = new SidecarIndexes(sizes, {
    nowMs: () => clock.ms,
    meter: {
      parsed: { lookedUp: (outcome) => told.push(`parsed ${outcome}`), held() {} },
      blobs: { lookedUp: (outcome) => told.push(`blob ${outcome}`), held() {} },
      answered: (answer) => told.push(answer),
      unusable: (reason) => told.push(reason),
    },
  });
  const ask = (query: RowQuery) => indexes.rows(file, query, { schema: EVENTS_SCHEMA, store });
  /** Replaces the sidecar in the way that mending does. */
  const replaceSidecar = async (bytes: Uint8Array) => {
    await store.delete([sidecarKey(file.key)]);
    await store.putNew(sidecarKey(file.key), bytes);
  };
  return { file, store, indexes, told, ask, clock, sidecar, withoutIndexes, replaceSidecar };
}

function word(text: string): RowQuery {
  return { kind: "terms", column: "raw", mode: "all", text };
}

Deno.test({
  name: "SidecarIndexes tells rows, and reads nothing twice",
  fn: async () => {
    const { store, told, ask } = await openLab();
    const answer = await ask(word("w1234"));
    ok(answer.kind === "rows" && answer.rows.includes(1_234) && answer.rows.length < ROWS / 4);
    const reads = store.reads.length;
    strictEqual(told.at(-1), "rows");
    strictEqual(await ask(word("w1234")), answer);
    strictEqual(store.reads.length, reads);
    deepStrictEqual(told.slice(-2), ["parsed hit", "rows"]);
    deepStrictEqual(await ask(word("w1234 absent")), { kind: "none" });
  },
});

Deno.test({
  name: "SidecarIndexes asked by many at once reads once",
  fn: async () => {
    const { store, ask } = await openLab();
    await ask(word("w1"));
    const reads = store.reads.length;
    const { store: other, ask: askOther } = await openLab();
    await Promise.all(Array.from({ length: 20 }, () => askOther(word("w1"))));
    strictEqual(other.reads.length, reads);
  },
});

Deno.test({
  name: "SidecarIndexes uses a sidecar that was made anew, and nothing of the one before",
  fn: async () => {
    const { told, ask, clock, sidecar, withoutIndexes, replaceSidecar } = await openLab();
    const kindOf = async (text: string) => [(await ask(word(text))).kind, told.at(-1)];
    await replaceSidecar(withoutIndexes);
    deepStrictEqual(await kindOf("w1"), ["all", "all"]);
    await replaceSidecar(sidecar);
    clock.ms = 59_999;
    deepStrictEqual(await kindOf("w1"), ["all", "all"]);
    clock.ms = 60_000;
    deepStrictEqual(await kindOf("w1"), ["rows", "rows"]);
  },
});

Deno.test({
  name: "SidecarIndexes reads the footer of a damaged sidecar again",
  fn: async () => {
    const { file, store, indexes, told, ask, withoutIndexes, replaceSidecar } = await openLab();
    await indexes.footers.read(store, file);
    // Where its blobs lay are others now, or nothing.
    await replaceSidecar(withoutIndexes);
    deepStrictEqual([(await ask(word("w1"))).kind, told.at(-1)], ["all", "corrupt"]);
    deepStrictEqual([(await ask(word("w1"))).kind, told.at(-1)], ["all", "all"]);
  },
});

Deno.test({
  name: "footers that pass are found where they are held, and not held for that",
  fn: async () => {
    const { file, store, indexes, ask } = await openLab();
    const { passing } = indexes.footers;
    const readsOf = async (read: () => Promise<unknown>) => {
      const before = store.reads.length;
      await read();
      return store.reads.length - before;
    };
    const sidecar = await passing.read(store, file);
    const once = await readsOf(() => passing.read(store, file));
    ok(once > 0, "it was not held");
    await ask(word("w1"));
    strictEqual(await readsOf(() => passing.read(store, file)), 0);
    deepStrictEqual(await passing.read(store, file), sidecar);
    passing.distrust(file);
    strictEqual(await readsOf(() => passing.read(store, file)), once);
  },
});

Deno.test({
  name: "SidecarIndexes looks for a sidecar that was missing again after a minute",
  fn: async () => {
    const { file, store, told, ask, clock, sidecar } = await openLab();
    await store.delete([sidecarKey(file.key)]);
    await ask(word("w1"));
    await store.putNew(sidecarKey(file.key), sidecar);
    clock.ms = 59_999;
    deepStrictEqual([(await ask(word("w1"))).kind, told.at(-1)], ["all", "missing"]);
    clock.ms = 60_000;
    deepStrictEqual([(await ask(word("w1"))).kind, told.at(-1)], ["rows", "rows"]);
  },
});

Deno.test({
  name: "SidecarIndexes of 0 bytes answers the same",
  fn: async () => {
    const { ask } = await openLab();
    const none = await openLab({ parsedBytesMax: 0, blobBytesMax: 0, blobEntriesMax: 1 });
    for (const text of ["w77", "w77", "row", "nothing"]) {
      deepStrictEqual(await none.ask(word(text)), await ask(word(text)));
    }
  },
});

Deno.test({
  name: "SidecarIndexes does not keep the rows of a frequent word, and finds them again",
  fn: async () => {
    const { told, ask, indexes } = await openLab(LARGE, 20_000);
    const answer = await ask(word("often"));
    ok(answer.kind === "rows" && answer.rows.length >= 5_000);
    strictEqual(indexes.answers.bytes, 0);
    told.length = 0;
    deepStrictEqual(await ask(word("often")), answer);
    strictEqual(told[0], "parsed miss");
  },
});

Deno.test({
  name: "answers of SidecarIndexes have a quarter of its bytes, and leave headers where they are",
  fn: async () => {
    const parsedBytesMax = 64 * 1024;
    const { store, ask, indexes } = await openLab({ ...LARGE, parsedBytesMax }, 30_000);
    const headers = async () => {
      await ask(word("w0"));
      return indexes.parsed.bytes;
    };
    const before = await headers();
    ok(before > 0);
    for (let i = 0; i < 100; i += 1) await ask(word(`w${i}`));
    ok(indexes.answers.bytes > parsedBytesMax / 8);
    ok(indexes.answers.bytes <= parsedBytesMax / 4);
    strictEqual(await headers(), before);
    const reads = store.reads.length;
    await ask(word("w99"));
    strictEqual(store.reads.length, reads);
  },
});

Deno.test({
  name: "SidecarIndexes goes without what is missing, damaged or out of reach, and counts it",
  fn: async () => {
    const all = { kind: "all" };
    {
      const { file, store, told, ask } = await openLab();
      await store.delete([sidecarKey(file.key)]);
      deepStrictEqual([await ask(word("w1")), told.at(-1)], [all, "missing"]);
    }
    {
      const { store, told, ask } = await openLab();
      store.answer = (bytes) => bytes.map((byte) => byte ^ 1);
      deepStrictEqual([await ask(word("w1")), told.at(-1)], [all, "corrupt"]);
      store.answer = (bytes) => bytes;
      strictEqual((await ask(word("w1"))).kind, "rows");
    }
    {
      const { store, told, ask } = await openLab();
      store.onRead = () => {
        throw new OperatingError("unavailable", "Cannot reach the bucket");
      };
      deepStrictEqual([await ask(word("w1")), told.at(-1)], [all, "unavailable"]);
      store.onRead = () => {};
      strictEqual((await ask(word("w1"))).kind, "rows");
    }
  },
});

Deno.test({
  name: "defaultIndexCacheSizes are shares of the memory limit within their bounds",
  fn: () => {
    const sizes = (limit: number) => {
      const { parsedBytesMax, blobBytesMax } = defaultIndexCacheSizes(limit);
      return [parsedBytesMax / MIB, blobBytesMax / MIB];
    };
    deepStrictEqual(sizes(256 * MIB), [64, 16]);
    deepStrictEqual(sizes(4_096 * MIB), [256, 64]);
    deepStrictEqual(sizes(64 * 1024 * MIB), [1_024, 256]);
    deepStrictEqual(sizes(Infinity), [64, 16]);
  },
});
