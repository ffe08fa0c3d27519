import assert from "node:assert/strict";
import fc from "fast-check";
import { isOperatingError } from "../../base/errors.ts";
import { ByteBuilder } from "../../columns/byte_builder.ts";
import { writeVarint } from "../../columns/varint.ts";
import { BitReader, BitWriter, ByteReader } from "./bits.ts";
import { listBytes, readList, writeList } from "./granule_list.ts";

const lists = fc.oneof(
  fc.uniqueArray(fc.nat(1_000_000), { minLength: 1, maxLength: 300 }),
  fc.uniqueArray(fc.nat(400), { minLength: 1, maxLength: 300 }),
  fc.tuple(fc.nat(5_000), fc.integer({ min: 1, max: 500 }))
    .map(([first, count]) => Array.from({ length: count }, (_, at) => first + at)),
).map((granules) => Uint32Array.from(granules).sort());

Deno.test("a list of granules is read as it was written, in as many bytes as were announced", () => {
  fc.assert(fc.property(lists, (granules) => {
    const target = new ByteBuilder();
    const list = { granules, count: granules.length };
    writeList(target, list);
    assert.equal(target.length, listBytes(list));
    const total = (granules.at(-1) ?? 0) + 1;
    const bytes = target.take();
    assert.deepEqual(readList(bytes, { start: 0, end: bytes.length, total }), granules);
  }));
});

Deno.test("a burst takes few bytes however long, and scattered granules some bits each", () => {
  const burst = Uint32Array.from({ length: 5_000 }, (_, at) => 70_000 + at);
  assert.ok(listBytes({ granules: burst, count: burst.length }) <= 12);
  const scattered = Uint32Array.from({ length: 1_000 }, (_, at) => 97 * at + at * at % 31).sort();
  assert.ok(listBytes({ granules: scattered, count: scattered.length }) <= 1_050);
});

Deno.test("any bytes are read as a list or refused, without more memory than granules", () => {
  const total = 1_000;
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      let granules: Uint32Array;
      try {
        granules = readList(bytes, { start: 0, end: bytes.length, total });
      } catch (error) {
        return assert.ok(isOperatingError(error, "corrupt"), String(error));
      }
      assert.ok(granules.length <= total && granules.every((granule) => granule < total));
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("numbers of bits and varints are read as they were written", () => {
  const number = fc.oneof(fc.nat(), fc.nat(300), fc.constantFrom(0, 1, 2 ** 24 - 1, 2 ** 31 - 1));
  fc.assert(fc.property(fc.array(number), (numbers) => {
    const target = new ByteBuilder();
    const writer = new BitWriter(target);
    for (const number of numbers) {
      writer.write(number & 0xffffff, 24);
      writer.unary(number % 100);
      writer.gamma(1 + number % 2 ** 24);
    }
    writer.end();
    const bitsEnd = target.length;
    for (const number of numbers) writeVarint(target, number);
    const bytes = target.take();
    const bits = new BitReader(bytes, 0, bitsEnd);
    for (const number of numbers) {
      assert.equal(bits.read(24), number & 0xffffff);
      assert.equal(bits.unary(), number % 100);
      assert.equal(bits.gamma(), 1 + number % 2 ** 24);
    }
    const varints = new ByteReader(bytes, bitsEnd);
    for (const number of numbers) assert.equal(varints.varint(), number);
    assert.throws(() => varints.byte(), { code: "corrupt" });
  }));
});
