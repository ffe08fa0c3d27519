/**
 * What every `ObjectStore` must do: `shared/storage/object_store.ts` as cases. A test file runs
 * each case on a fresh, empty store.
 */

import assert from "node:assert/strict";
import { utf8 } from "../base/bytes.ts";
import { type ErrorCode, isOperatingError } from "../base/errors.ts";
import { keyOf, type ObjectStore } from "../storage/object_store.ts";

export interface ObjectStoreCase {
  readonly name: string;
  run(store: ObjectStore): Promise<void>;
}

const BAD_KEYS = [
  "",
  "/a",
  "a/",
  "a//b",
  ".",
  "..",
  "a/../b",
  "../a",
  "a/.",
  "a\0b",
  "a\\b",
  ".tmp/a",
];
const LONG_KEYS = ["k".repeat(256), "k/".repeat(512) + "k"];

export const OBJECT_STORE_CASES: readonly ObjectStoreCase[] = [
  {
    name: "get returns what putNew stored, also nothing at all",
    async run(store) {
      const bytes = Uint8Array.from({ length: 70_000 }, (_, at) => at * 7);
      await store.putNew("a/b/data.bin", bytes);
      await store.putNew("a/empty", new Uint8Array());
      assert.deepEqual(await store.get("a/b/data.bin"), bytes);
      assert.equal((await store.get("a/empty")).byteLength, 0);
    },
  },
  {
    name: "putNew keeps its own copy of the bytes",
    async run(store) {
      const bytes = utf8("before");
      await store.putNew("copy", bytes);
      bytes.fill(0);
      (await store.get("copy")).fill(0);
      assert.deepEqual(await store.get("copy"), utf8("before"));
    },
  },
  {
    name: "putNew refuses to replace and leaves the first object",
    async run(store) {
      await store.putNew("x", utf8("first"));
      await rejects(store.putNew("x", utf8("second")), "conflict");
      assert.deepEqual(await store.get("x"), utf8("first"));
    },
  },
  {
    name: "putNew of one key from many writers stores exactly one",
    async run(store) {
      const writes = Array.from(
        { length: 8 },
        (_, at) => store.putNew("deep/er/x", utf8(`w${at}`)),
      );
      const outcomes = await Promise.allSettled(writes);
      const winners = outcomes.flatMap((one, at) => one.status === "fulfilled" ? [at] : []);
      assert.equal(winners.length, 1);
      assert.deepEqual(await store.get("deep/er/x"), utf8(`w${winners[0]}`));
    },
  },
  {
    name: "getRange cuts at the object's end",
    async run(store) {
      await store.putNew("digits", utf8("0123456789"));
      const table: [offset: number, length: number, expected: string][] = [
        [0, 3, "012"],
        [4, 2, "45"],
        [8, 5, "89"],
        [9, 1, "9"],
        [10, 4, ""],
        [99, 1, ""],
        [3, 0, ""],
      ];
      for (const [offset, length, expected] of table) {
        assert.deepEqual(await store.getRange("digits", offset, length), utf8(expected));
      }
    },
  },
  {
    name: "head gives key and size",
    async run(store) {
      await store.putNew("dir/seven", utf8("1234567"));
      const info = await store.head("dir/seven");
      assert.equal(info.key, "dir/seven");
      assert.equal(info.size, 7);
      assert.ok(info.modifiedMs > 1_600_000_000_000, `modifiedMs is ${info.modifiedMs}`);
    },
  },
  {
    name: "a missing object is not_found, a folder is no object",
    async run(store) {
      await store.putNew("dir/x", utf8("x"));
      for (const key of ["none", "dir", "dir/x/y", "dir/none"]) {
        await rejects(store.get(key), "not_found");
        await rejects(store.getRange(key, 0, 1), "not_found");
        await rejects(store.head(key), "not_found");
      }
    },
  },
  {
    name: "list gives the keys with a prefix, in order",
    async run(store) {
      const keys = ["a.b", "a/b", "a/c/d", "ab", "b/x", "é/ü"];
      for (const key of [...keys].reverse()) await store.putNew(key, utf8(key));
      const table: [prefix: string, expected: string[]][] = [
        ["", keys],
        ["a", ["a.b", "a/b", "a/c/d", "ab"]],
        ["a/", ["a/b", "a/c/d"]],
        ["a/c/d", ["a/c/d"]],
        ["a/c/dd", []],
        ["é/", ["é/ü"]],
        ["none/", []],
      ];
      for (const [prefix, expected] of table) {
        const infos = await Array.fromAsync(store.list(prefix));
        assert.deepEqual(infos.map((info) => info.key), expected);
        for (const info of infos) assert.equal(info.size, utf8(info.key).byteLength);
      }
    },
  },
  {
    name: "list of an empty store is empty",
    async run(store) {
      assert.deepEqual(await Array.fromAsync(store.list("")), []);
    },
  },
  {
    name: "delete removes what is there and ignores the rest",
    async run(store) {
      await store.putNew("d/1", utf8("1"));
      await store.putNew("d/2", utf8("2"));
      await store.delete(["d/1", "d/none", "none"]);
      const left = await Array.fromAsync(store.list(""));
      assert.deepEqual(left.map((info) => info.key), ["d/2"]);
      await store.putNew("d/1", utf8("again"));
    },
  },
  {
    name: "a bad key is invalid_argument everywhere and touches nothing",
    async run(store) {
      await store.putNew("keep", utf8("kept"));
      for (const key of [...BAD_KEYS, ...LONG_KEYS]) {
        await rejects(store.putNew(key, utf8("x")), "invalid_argument");
        await rejects(store.get(key), "invalid_argument");
        await rejects(store.getRange(key, 0, 1), "invalid_argument");
        await rejects(store.head(key), "invalid_argument");
        await rejects(store.delete(["keep", key]), "invalid_argument");
      }
      await rejects(Array.fromAsync(store.list("../")), "invalid_argument");
      const left = await Array.fromAsync(store.list(""));
      assert.deepEqual(left.map((info) => info.key), ["keep"]);
    },
  },
  {
    name: "rootUri is absolute and a key comes back from its location",
    run(store) {
      assert.match(store.rootUri, /^[a-z0-9]+:\/\/.*[^/]$/);
      assert.equal(keyOf(store.rootUri, `${store.rootUri}/a/b`), "a/b");
      assert.equal(keyOf(store.rootUri, `${store.rootUri}-other/a`), undefined);
      return Promise.resolve();
    },
  },
];

async function rejects(attempt: Promise<unknown>, code: ErrorCode): Promise<void> {
  await assert.rejects(attempt, (error) => isOperatingError(error, code));
}
