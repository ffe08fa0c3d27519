import assert from "node:assert/strict";
import { collectGarbage, garbageLimit, GROWN_BYTES } from "./garbage.ts";

const MIB = 1024 * 1024;

Deno.test("collectGarbage frees the bytes of arrays that nobody uses", () => {
  const before = Deno.memoryUsage().external;
  for (let at = 0; at < 24; at += 1) new Uint8Array(MIB).fill(1);
  collectGarbage();
  assert.ok(Deno.memoryUsage().external - before < 4 * MIB);
});

Deno.test("past its limit a process is collected once, and again when it has grown", () => {
  const limit = 500 * MIB;
  const lab = { bytes: limit, collections: 0 };
  const look = garbageLimit({
    residentBytes: () => lab.bytes,
    collect: () => lab.collections += 1,
  });
  const collectionsWith = (bytes: number) => {
    lab.bytes = bytes;
    look(limit);
    return lab.collections;
  };
  assert.equal(collectionsWith(limit), 0);
  assert.equal(collectionsWith(limit + 1), 1);
  assert.equal(collectionsWith(limit + GROWN_BYTES), 1);
  assert.equal(collectionsWith(limit + GROWN_BYTES + 1), 2);
  // It has less meanwhile, and grows again.
  assert.equal(collectionsWith(limit - GROWN_BYTES), 2);
  assert.equal(collectionsWith(limit + 1), 3);
});
