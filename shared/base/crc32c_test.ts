import assert from "node:assert/strict";
import fc from "fast-check";
import { utf8 } from "./bytes.ts";
import { crc32c } from "./crc32c.ts";

/** RFC 3720 appendix B.4, and the check value of the catalogue of CRCs. */
const KNOWN: readonly (readonly [Uint8Array, number])[] = [
  [new Uint8Array(0), 0],
  [new Uint8Array(32), 0x8a9136aa],
  [new Uint8Array(32).fill(0xff), 0x62a8ab43],
  [Uint8Array.from({ length: 32 }, (_, i) => i), 0x46dd794e],
  [Uint8Array.from({ length: 32 }, (_, i) => 31 - i), 0x113fdb5c],
  [utf8("123456789"), 0xe3069283],
];

function bitByBit(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}

Deno.test({
  name: "crc32c gives the published values, and of any bytes what its polynomial does bit by bit",
  fn() {
    for (const [bytes, crc] of KNOWN) assert.equal(crc32c(bytes), crc);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(7), (bytes, from) => {
        const part = bytes.subarray(from);
        assert.equal(crc32c(part), bitByBit(part));
      }),
    );
  },
});
