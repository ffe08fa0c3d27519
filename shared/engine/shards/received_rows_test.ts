import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { FileSystem } from "../../os/file_system.ts";
import type { ArrowFiles } from "../../parquet/arrow_file.ts";
import { RECEIVED_BYTES_MAX, ReceivedSpace } from "./received_rows.ts";

/** A folder whose files are as long as the first bytes of their streams say. */
function openSpace(bytesMax: number) {
  const removed: string[] = [];
  const files = {
    mkdir: () => Promise.resolve(),
    removeTree: (path: string) => Promise.resolve(void removed.push(path)),
    create: () =>
      Promise.resolve({
        write: () => Promise.resolve(),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      }),
  } as unknown as FileSystem;
  const writer = {
    write: (stream: Uint8Array) =>
      Promise.resolve({ byteLength: new Uint32Array(stream.buffer)[0] ?? 0 }),
  } as unknown as ArrowFiles;
  return { space: new ReceivedSpace({ files, dir: "d", writer, bytesMax }), removed };
}

const streamOf = (bytes: number) => new Uint8Array(new Uint32Array([bytes]).buffer);

Deno.test({
  name: "ReceivedRows.keep is shard_bytes, 413, past 1 GiB of one statement",
  async fn() {
    const { space } = openSpace(Infinity);
    await using rows = await space.open();
    await rows.keep(streamOf(RECEIVED_BYTES_MAX - 5), 1);
    await rejects(rows.keep(streamOf(6), 1), { reason: "shard_bytes", code: "too_large" });
    strictEqual(rows.bytes, RECEIVED_BYTES_MAX - 5);
  },
});

Deno.test({
  name: "ReceivedSpace is pool_exhausted past what statements hold together, until one ends",
  async fn() {
    const { space, removed } = openSpace(100);
    const first = await space.open();
    await using second = await space.open();
    await first.keep(streamOf(60), 1);
    await rejects(second.keep(streamOf(60), 1), { reason: "pool_exhausted" });
    await first[Symbol.asyncDispose]();
    deepStrictEqual(removed, ["d/1"]);
    await second.keep(streamOf(60), 1);
    strictEqual(space.bytes, 60);
  },
});

Deno.test({
  name: "ReceivedRows.keep takes nothing once its statement is over",
  async fn() {
    const { space } = openSpace(100);
    const rows = await space.open();
    await rows[Symbol.asyncDispose]();
    await rejects(rows.keep(streamOf(1), 1), { code: "cancelled" });
    strictEqual(space.bytes, 0);
  },
});
