import assert from "node:assert/strict";
import { SystemClock } from "../os/clock.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import type { DiskRoom } from "../os/disk_room.ts";
import { SystemRandom } from "../os/random.ts";
import { OBJECT_STORE_CASES } from "../testing/object_store_conformance.ts";
import { MemoryStore } from "../testing/memory_store.ts";
import { openStore } from "./open_store.ts";
import { RoomKeepingStore } from "./room_keeping_store.ts";

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

const ROOMS: readonly {
  name: string;
  room: DiskRoom | undefined;
  storedBytes: number;
  isTaken: boolean;
}[] = [
  {
    name: "of a large disk 64 MiB",
    room: at(100 * GIB, 65 * MIB),
    storedBytes: MIB,
    isTaken: true,
  },
  {
    name: "of a large disk no less than 64 MiB",
    room: at(100 * GIB, 65 * MIB),
    storedBytes: MIB + 1,
    isTaken: false,
  },
  {
    name: "of a small disk a sixteenth",
    room: at(160 * MIB, 11 * MIB),
    storedBytes: MIB,
    isTaken: true,
  },
  {
    name: "of a small disk no less than a sixteenth",
    room: at(160 * MIB, 11 * MIB),
    storedBytes: MIB + 1,
    isTaken: false,
  },
  {
    name: "nothing of a disk that tells nothing",
    room: undefined,
    storedBytes: MIB,
    isTaken: true,
  },
];

for (const { name, run } of OBJECT_STORE_CASES) {
  Deno.test({
    name: `RoomKeepingStore ${name}`,
    fn: () => run(new RoomKeepingStore(new MemoryStore(), () => Promise.resolve(at(GIB, GIB)))),
  });
}

for (const { name, room, storedBytes, isTaken } of ROOMS) {
  Deno.test({
    name: `RoomKeepingStore leaves free ${name}`,
    async fn() {
      const inner = new MemoryStore();
      const store = new RoomKeepingStore(inner, () => Promise.resolve(room));
      const put = () => store.putNew("a/b", new Uint8Array(storedBytes));
      if (isTaken) return await put();
      await assert.rejects(put, {
        code: "unavailable",
        reason: "warehouse_disk_full",
        message: /^Cannot store object "a\/b" of [0-9.]+ \S+: .*MiB are free .* must stay free/,
      });
      await inner.putNew("a/b", new Uint8Array(1));
      await store.delete(["a/b"]);
      await assert.rejects(inner.head("a/b"), { code: "not_found" });
    },
  });
}

Deno.test({
  name: "openStore keeps room on a disk where it is asked to",
  async fn() {
    const place = await Deno.makeTempDir({ prefix: "svc-room-" });
    const clock = new SystemClock();
    const random = new SystemRandom();
    const deps = { files: new DenoFileSystem(), clock, random, env: () => undefined };
    const isKeeping = (options: { keepsRoom?: boolean }) =>
      openStore(place, deps, options).store instanceof RoomKeepingStore;
    assert.deepEqual([{}, { keepsRoom: true }].map(isKeeping), [false, true]);
    await Deno.remove(place);
  },
});

function at(bytes: number, freeBytes: number): DiskRoom {
  return { bytes, freeBytes };
}
