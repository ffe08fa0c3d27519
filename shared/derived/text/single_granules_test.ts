import assert from "node:assert/strict";
import fc from "fast-check";
import { isOperatingError } from "../../base/errors.ts";
import { ByteBuilder } from "../../columns/byte_builder.ts";
import { readSingles, writeSingles } from "./single_granules.ts";

function written(granules: readonly number[], total: number): Uint8Array {
  const target = new ByteBuilder();
  writeSingles(target, granules, total);
  return target.take();
}

Deno.test("single granules are read as they were written, near one another or not", () => {
  const granule = fc.oneof(fc.nat(40), fc.nat(99_999));
  fc.assert(fc.property(fc.array(granule), fc.nat(5), (granules, more) => {
    const total = Math.max(0, ...granules) + 1 + more;
    const bytes = written(granules, total);
    const place = { start: 0, end: bytes.length, count: granules.length, total, hasCoding: true };
    assert.deepEqual([...readSingles(bytes, place)], granules);
  }));
});

Deno.test("granules of neighbours that were written together take a bit or two, of others no more than their number", () => {
  const counted = Array.from({ length: 800 }, (_, at) => at >> 3);
  assert.ok(written(counted, 1_024).length <= 800 * 1.3 / 8);
  const scattered = counted.map((_, at) => at * 619 % 1_024);
  assert.equal(written(scattered, 1_024).length, 1 + 800 * 10 / 8);
});

Deno.test("any bytes are read as single granules below the total, or refused", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 40 }),
      fc.nat(60),
      fc.nat(900),
      (bytes, count, total) => {
        try {
          const place = { start: 0, end: bytes.length, count, total, hasCoding: true };
          assert.ok(readSingles(bytes, place).every((granule) => granule < total));
        } catch (error) {
          assert.ok(isOperatingError(error, "corrupt"), String(error));
        }
      },
    ),
  );
});
