import assert from "node:assert/strict";
import { concatBytes, crc32, formatBytes, freeBytes, hexOf, textOf, utf8 } from "./bytes.ts";

Deno.test({
  name: "crc32: the check value of the IEEE polynomial, whole or in parts",
  fn() {
    const bytes = utf8("123456789");
    assert.equal(crc32(bytes), 0xcbf43926);
    assert.equal(crc32(bytes.subarray(4), crc32(bytes.subarray(0, 4))), 0xcbf43926);
    assert.equal(crc32(new Uint8Array(0)), 0);
  },
});

Deno.test({
  name: "textOf: refuses bytes that are not UTF-8, keeps a byte order mark",
  fn() {
    assert.equal(textOf(utf8("héllo ✓")), "héllo ✓");
    assert.equal(textOf(new Uint8Array([0xef, 0xbb, 0xbf, 0x61])), "\ufeffa");
    assert.throws(() => textOf(new Uint8Array([0x61, 0xff])), TypeError);
  },
});

Deno.test({
  name:
    "freeBytes: empties what is the whole of its buffer, and nothing that others have a part of",
  fn() {
    const whole = new Uint8Array(100);
    const part = whole.subarray(10, 20);
    freeBytes(part);
    assert.equal(whole.byteLength, 100);
    freeBytes(whole);
    assert.deepEqual([whole.byteLength, part.byteLength], [0, 0]);
  },
});

Deno.test({
  name: "concatBytes, hexOf, formatBytes: small cases",
  fn() {
    assert.deepEqual(concatBytes([utf8("a"), utf8(""), utf8("bc")]), utf8("abc"));
    assert.equal(hexOf(new Uint8Array([0, 15, 255])), "000fff");
    assert.equal(formatBytes(0), "0 B");
    assert.equal(formatBytes(1023), "1023 B");
    assert.equal(formatBytes(1536), "1.5 KiB");
    assert.equal(formatBytes(24 * 1024 ** 3), "24.0 GiB");
  },
});
