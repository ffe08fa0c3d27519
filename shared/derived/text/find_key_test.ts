import assert from "node:assert/strict";
import fc from "fast-check";
import { isOperatingError } from "../../base/errors.ts";
import { ByteBuilder } from "../../columns/byte_builder.ts";
import { BitWriter } from "./bits.ts";
import { findKey, type FoundKey } from "./find_key.ts";
import { KEY_EXTRA_BITS } from "./values_format.ts";

interface Key {
  /** From the key before. */
  readonly distance: number;
  readonly isSingle: boolean;
}

/** Some bytes before the keys and behind them, which are none of theirs. */
const BESIDE = [0xa5, 0xff, 0x01];

function written(keys: readonly Key[]): { readonly bytes: Uint8Array; readonly end: number } {
  const target = new ByteBuilder();
  for (const byte of BESIDE) target.byte(byte);
  const bits = new BitWriter(target);
  for (const { distance, isSingle } of keys) {
    bits.unary(distance >>> KEY_EXTRA_BITS);
    bits.write(distance & (2 ** KEY_EXTRA_BITS - 1), KEY_EXTRA_BITS);
    bits.write(isSingle ? 1 : 0, 1);
  }
  bits.end();
  const end = target.length;
  for (const byte of BESIDE) target.byte(byte);
  return { bytes: target.take(), end };
}

/** What `findKey` must say, key by key. */
function expected(keys: readonly Key[], end: number): ReadonlyMap<number, FoundKey> {
  const singles = keys.filter(({ isSingle }) => isSingle).length;
  const all = new Map<number, FoundKey>();
  let sum = 0;
  let single = 0;
  for (const [at, { distance, isSingle }] of keys.entries()) {
    sum += distance;
    all.set(sum, { isSingle, before: isSingle ? single : at - single, singles, end });
    if (isSingle) single += 1;
  }
  return all;
}

const key = fc.record({
  distance: fc.oneof(fc.integer({ min: 1, max: 3_000 }), fc.integer({ min: 1, max: 2 ** 17 })),
  isSingle: fc.boolean(),
});

Deno.test("findKey finds each key where it is among its kind, and no other", () => {
  fc.assert(fc.property(fc.array(key, { maxLength: 60 }), (keys) => {
    const { bytes, end } = written(keys);
    const all = expected(keys, end);
    const where = { start: BESIDE.length, count: keys.length };
    for (const [distance, found] of all) {
      assert.deepEqual(findKey(bytes, { ...where, distance }), found);
      for (const other of [distance - 1, distance + 1]) {
        if (all.has(other)) continue;
        assert.equal(findKey(bytes, { ...where, distance: other }), undefined);
      }
    }
  }));
});

Deno.test("findKey refuses bytes that end within a key", () => {
  fc.assert(fc.property(fc.array(key, { minLength: 1, maxLength: 40 }), (keys) => {
    const { bytes, end } = written(keys);
    const distance = keys.reduce((sum, one) => sum + one.distance, 0);
    const where = { start: BESIDE.length, count: keys.length, distance };
    assert.throws(
      () => findKey(bytes.subarray(0, end - 2), where),
      (error) => isOperatingError(error, "corrupt"),
    );
  }));
});
