import assert from "node:assert/strict";
import { deflateRawSync } from "node:zlib";
import { utf8 } from "./bytes.ts";
import { inflateRaw } from "./inflate_raw.ts";

const TEXT = utf8("deflated more than once ".repeat(300));
const PACKED = new Uint8Array(deflateRawSync(TEXT));

/** Bytes that do not unpack to so many. */
const REFUSED: readonly (readonly [what: string, packed: Uint8Array, length: number])[] = [
  ["cut bytes", PACKED.subarray(0, -3), TEXT.length],
  ["more bytes than told", PACKED, TEXT.length - 1],
  ["fewer bytes than told", PACKED, TEXT.length + 1],
  ["bytes that are nothing", Uint8Array.of(255, 255, 255, 1, 2, 3), 10],
  ["no bytes", new Uint8Array(0), 10],
];

for (const [what, packed, length] of REFUSED) {
  Deno.test(`inflateRaw refuses ${what}, and unpacks what comes next`, async () => {
    assert.deepEqual(inflateRaw(PACKED, TEXT.length), TEXT);
    assert.throws(() => inflateRaw(packed, length));
    assert.deepEqual(inflateRaw(PACKED, TEXT.length), TEXT);
    // An error that the stream tells later is nobody's.
    await new Promise((resolve) => setTimeout(resolve, 0));
    assert.deepEqual(inflateRaw(PACKED, TEXT.length), TEXT);
  });
}

Deno.test("inflateRaw unpacks nothing, and more than it keeps memory for", () => {
  for (const bytes of [0, 1, 300_000]) {
    const text = new Uint8Array(bytes).fill(7);
    assert.deepEqual(inflateRaw(new Uint8Array(deflateRawSync(text)), bytes), text);
  }
});
