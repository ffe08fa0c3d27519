import assert from "node:assert/strict";
import { readBySteps, type ReadSteps } from "./read_steps.ts";

const BYTES = Uint8Array.of(1, 2, 3, 4);

/** Reads one byte after the other, up to `count`. */
function* bytesUpTo(count: number): ReadSteps<number[]> {
  const found: number[] = [];
  for (let offset = 0; offset < count; offset += 1) found.push(...yield { offset, length: 1 });
  return found;
}

const now = (offset: number, length: number) => BYTES.subarray(offset, offset + length);

Deno.test("readBySteps makes no promise where all bytes are given at once", () => {
  assert.deepEqual(readBySteps(bytesUpTo(3), now), [1, 2, 3]);
});

Deno.test("readBySteps waits from the first promise on", async () => {
  const later = (offset: number, length: number) =>
    offset === 1 ? Promise.resolve(now(offset, length)) : now(offset, length);
  const reading = readBySteps(bytesUpTo(4), later);
  assert(reading instanceof Promise);
  assert.deepEqual(await reading, [1, 2, 3, 4]);
});

Deno.test("readBySteps fails as a read does, at once or later", async () => {
  const failing = (at: number) => (offset: number, length: number) => {
    if (offset === at) throw new Error(`no byte ${at}`);
    return offset === 1 ? Promise.resolve(now(offset, length)) : now(offset, length);
  };
  assert.throws(() => readBySteps(bytesUpTo(3), failing(0)), /no byte 0/);
  await assert.rejects(async () => await readBySteps(bytesUpTo(3), failing(2)), /no byte 2/);
});
