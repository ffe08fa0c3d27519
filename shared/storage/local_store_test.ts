import assert from "node:assert/strict";
import { utf8 } from "../base/bytes.ts";
import { isOperatingError } from "../base/errors.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import type { File, FileSystem } from "../os/file_system.ts";
import { OBJECT_STORE_CASES } from "../testing/object_store_conformance.ts";
import { openLocalReader, openLocalStore } from "./local_store.ts";

for (const { name, run } of OBJECT_STORE_CASES) {
  Deno.test({
    name: `LocalStore ${name}`,
    fn: () =>
      inFolder((root) => run(openLocalStore(new DenoFileSystem(), `${root}/new/warehouse`))),
  });
  Deno.test({
    name: `LocalStore with a folder for unfinished objects ${name}`,
    fn: () =>
      inFolder((root) =>
        run(openLocalStore(new DenoFileSystem(), `${root}/new`, { unfinishedBelow: "ns/mine" }))
      ),
  });
}

Deno.test({
  name: "openLocalStore refuses a relative root",
  fn() {
    for (const root of ["", "warehouse", "./warehouse"]) {
      assert.throws(
        () => openLocalStore(new DenoFileSystem(), root),
        (error) => isOperatingError(error, "invalid_argument"),
      );
    }
  },
});

Deno.test({
  name: "LocalStore.putNew syncs the bytes before the name, and each new name in its folder",
  fn: () =>
    inFolder(async (root) => {
      const log: string[] = [];
      const store = openLocalStore(recording(new DenoFileSystem(), log, root), `${root}/wh`);
      await store.putNew("t/data/x", utf8("x"));
      const names = log.map((line) => line.replace(/\.tmp\/[0-9a-f]+/, ".tmp/*"));
      assert.deepEqual(names, [
        // The folder above was there; its name is synced as well.
        "syncDir ",
        "mkdir wh",
        "syncDir ",
        "mkdir wh/.tmp",
        "syncDir wh",
        "mkdir wh/t",
        "syncDir wh",
        "mkdir wh/t/data",
        "syncDir wh/t",
        "create wh/.tmp/*",
        "sync wh/.tmp/*",
        "link wh/t/data/x",
        "syncDir wh/t/data",
        "remove wh/.tmp/*",
      ]);
    }),
});

Deno.test({
  name: "LocalStore.sweepTemporaries removes only what a writer left long ago",
  fn: () =>
    inFolder(async (root) => {
      const store = openLocalStore(new DenoFileSystem(), root);
      await store.putNew("kept", utf8("kept"));
      await Deno.writeTextFile(`${root}/.tmp/left`, "half");
      const nowMs = Date.now();
      assert.equal(await store.sweepTemporaries(nowMs), 0);
      assert.equal(await store.sweepTemporaries(nowMs + 2 * 3_600_000), 1);
      assert.deepEqual(await store.get("kept"), utf8("kept"));
    }),
});

Deno.test({
  name:
    "LocalStore with a folder for unfinished objects touches nothing else, and lists none of them",
  fn: () =>
    inFolder(async (root) => {
      await Deno.mkdir(`${root}/ns/mine`, { recursive: true });
      const log: string[] = [];
      const files = recording(new DenoFileSystem(), log, root);
      const store = openLocalStore(files, root, { unfinishedBelow: "ns/mine" });
      await store.putNew("ns/mine/t/x", utf8("x"));
      const changes = log.filter((line) => !line.startsWith("syncDir"));
      assert.ok(changes.length >= 6, changes.join());
      assert.deepEqual(changes.filter((line) => !/^[a-z]+ ns\/mine\//i.test(line)), []);
      await Deno.writeTextFile(`${root}/ns/mine/.tmp/left`, "half");
      const keys = (await Array.fromAsync(store.list(""))).map(({ key }) => key);
      assert.deepEqual(keys, ["ns/mine/t/x"]);
      assert.equal(await store.sweepTemporaries(Date.now() + 2 * 3_600_000), 1);
      await assert.rejects(
        store.putNew("ns/mine/.tmp/left", utf8("x")),
        (error) => isOperatingError(error, "invalid_argument"),
      );
    }),
});

Deno.test({
  name: "openLocalReader sees nothing in a folder that is not there yet, then what appears",
  fn: () =>
    inFolder(async (root) => {
      const reader = openLocalReader(new DenoFileSystem(), `${root}/later`);
      assert.deepEqual(await Array.fromAsync(reader.list("")), []);
      await openLocalStore(new DenoFileSystem(), `${root}/later`).putNew("x", utf8("x"));
      assert.deepEqual(await reader.get("x"), utf8("x"));
      assert.equal(reader.localPath("x"), `${root}/later/x`);
    }),
});

Deno.test({
  name: "LocalStore says why a folder cannot be made or listed, never that an object is not there",
  fn: () =>
    inFolder(async (root) => {
      await Deno.writeTextFile(`${root}/file`, "x");
      const store = openLocalStore(new DenoFileSystem(), `${root}/file/below`);
      const says = (error: unknown) =>
        isOperatingError(error, "unavailable") && error.reason === "disk_failure" &&
        /(ENOTDIR|[Nn]ot a directory).*file.*; look at what is at this path$/.test(error.message);
      await assert.rejects(store.putNew("x", utf8("x")), says);
      await assert.rejects(Array.fromAsync(store.list("")), says);
    }),
});

async function inFolder(body: (root: string) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "svc-storage-" });
  try {
    await body(root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** `files` that writes down each durable step, with paths below `root`. */
function recording(files: FileSystem, log: string[], root: string): FileSystem {
  const note = (step: string, path: string) => log.push(`${step} ${path.slice(root.length + 1)}`);
  return new Proxy(files, {
    get(target, property: keyof FileSystem) {
      return async (...args: never[]) => {
        const step = target[property] as (...args: never[]) => Promise<unknown>;
        const path = args[property === "link" ? 1 : 0] as unknown as string;
        if (!["exists", "stat"].includes(property)) note(property, path);
        const result = await step.apply(target, args);
        return property === "create"
          ? recordingFile(result as File, () => note("sync", path))
          : result;
      };
    },
  });
}

function recordingFile(file: File, onSync: () => void): File {
  return new Proxy(file, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        if (property === "sync") onSync();
        return Reflect.apply(member, target, args);
      };
    },
  });
}
