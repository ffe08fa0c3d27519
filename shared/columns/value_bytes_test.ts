import assert from "node:assert/strict";
import { areSameBytesAt, hashOfBytes } from "./value_bytes.ts";

Deno.test("bytes are the same when none differs, whatever their number and what lies around them", () => {
  const start = 3;
  for (let length = 0; length <= 17; length += 1) {
    const bytes = Uint8Array.from({ length: length + 2 * start }, (_, at) => 7 * at);
    const other = bytes.slice(1);
    const view = new DataView(bytes.buffer);
    const otherView = new DataView(other.buffer);
    const isSame = () => areSameBytesAt(view, start, otherView, start - 1, length);
    other[start - 2] = 255;
    other[start - 1 + length] = 255;
    assert.ok(isSame(), `${length} bytes`);
    const hash = hashOfBytes(view, start, length);
    assert.equal(hashOfBytes(otherView, start - 1, length), hash);
    for (let at = 0; at < length; at += 1) {
      other[start - 1 + at] = (other[start - 1 + at] as number) ^ 0x80;
      assert.ok(!isSame(), `${length} bytes, of which byte ${at} differs`);
      other[start - 1 + at] = (other[start - 1 + at] as number) ^ 0x80;
    }
  }
});
