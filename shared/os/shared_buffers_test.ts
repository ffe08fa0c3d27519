import assert from "node:assert/strict";
import { SharedBuffers } from "./shared_buffers.ts";

const MIB = 1024 * 1024;

Deno.test("SharedBuffers takes again what was given back, whole or in part, and nothing that is in use", () => {
  const buffers = new SharedBuffers();
  const first = buffers.take(5 * MIB);
  assert.equal(first.byteLength, 5 * MIB);
  const second = buffers.take(5 * MIB);
  assert.notEqual(second.buffer, first.buffer);
  buffers.give(first);
  assert.equal(buffers.take(6 * MIB).buffer, first.buffer);
  buffers.give(second);
  const small = buffers.take(100);
  assert.equal(small.buffer, second.buffer);
  assert.equal(small.byteLength, 100);
});

Deno.test("SharedBuffers keeps two at most, the largest, and lets go of one that is too small", () => {
  const buffers = new SharedBuffers();
  const sizes = [20, 4, 12].map((mib) => buffers.take(mib * MIB));
  for (const one of sizes) buffers.give(one);
  const [large, , middle] = sizes;
  assert.equal(buffers.take(1).buffer, middle?.buffer);
  const larger = buffers.take(24 * MIB);
  assert.notEqual(larger.buffer, large?.buffer);
  // The one of 20 MiB was in the way.
  assert.notEqual(buffers.take(1).buffer, large?.buffer);
});
