/** What the two ways of reading a body share is in `body_test.ts`. */

import assert from "node:assert/strict";
import { deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { concatBytes, utf8 } from "../base/bytes.ts";
import { OperatingError } from "../base/errors.ts";
import { type BodyStreamLimits, streamBody } from "./body_stream.ts";
import { ByteBudget } from "../base/byte_budget.ts";
import { snappyBlock, snappyFramed } from "../testing/snappy.ts";

const MIB = 1024 * 1024;
const PACK: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  identity: (bytes) => bytes,
  gzip: gzipSync,
  deflate: deflateSync,
  zstd: zstdCompressSync,
  snappy: snappyBlock,
  "x-snappy-framed": (bytes) => snappyFramed(bytes),
};

/** A request whose body is pulled chunk by chunk; `pulled` counts the bytes that were. */
function requestOf(chunks: Iterable<Uint8Array>, encoding = "identity") {
  const source = { pulled: 0, isCancelled: false, isOver: false };
  const iterator = chunks[Symbol.iterator]();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = iterator.next();
      if (done) {
        source.isOver = true;
        return controller.close();
      }
      source.pulled += value.byteLength;
      controller.enqueue(value);
    },
    cancel() {
      source.isCancelled = true;
    },
  }, { highWaterMark: 0 });
  const headers = { "content-encoding": encoding };
  return { source, request: new Request("http://x/", { method: "POST", headers, body }) };
}

function* cut(bytes: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
  let at = 0;
  for (let i = 0; at < bytes.length; i += 1) {
    const end = at + (sizes[i % sizes.length] ?? bytes.length);
    yield bytes.subarray(at, end);
    at = end;
  }
}

Deno.test({
  name: "streamBody gives the body whatever its pieces and its encoding",
  fn: async () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 500 }),
      fc.tuple(fc.nat(255), fc.nat(200_000)).map(([byte, n]) => new Uint8Array(n).fill(byte)),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(bytes, { minLength: 1, maxLength: 3 }),
        fc.constantFrom("identity", "gzip", "zstd", "x-snappy-framed"),
        fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 5 }),
        async (parts, encoding, sizes) => {
          // Members of gzip, frames of zstd and framed streams of Snappy follow each other.
          const packed = concatBytes(parts.map((part) => PACK[encoding]?.(part) ?? part));
          const { request } = requestOf(cut(packed, sizes), encoding);
          const pieces = await Array.fromAsync(streamBody(request, { bytesMax: MIB }));
          assert.deepEqual(concatBytes(pieces), concatBytes(parts));
          assert.ok(pieces.every((piece) => piece.byteLength > 0));
        },
      ),
      { numRuns: 120 },
    );
  },
});

for (const encoding of ["gzip", "deflate", "zstd", "snappy", "x-snappy-framed"]) {
  Deno.test({
    name: `streamBody inflates 32 MiB of ${encoding} in pieces of 64 KiB, charged as they come`,
    fn: async () => {
      const body = new Uint8Array(32 * MIB);
      const packed = PACK[encoding]?.(body) ?? body;
      const { request } = requestOf(cut(packed, [1_000]), encoding);
      const budget = new ByteBudget(64 * MIB);
      // A block of Snappy is decoded from all that was decoded before.
      const decoderBytesMax = encoding === "snappy" ? 32 * MIB : 8.5 * MIB;
      using hold = budget.hold();
      let total = 0;
      for await (const piece of streamBody(request, { bytesMax: 32 * MIB, hold })) {
        total += piece.byteLength;
        assert.ok(piece.byteLength <= 64 * 1024);
        // What was given, and the decoder with its window.
        assert.ok(budget.used > total, `${budget.used}`);
        assert.ok(budget.used <= total + decoderBytesMax, `${budget.used}`);
      }
      assert.equal(total, 32 * MIB);
      assert.equal(budget.used, 32 * MIB);
    },
  });
}

for (const encoding of ["identity", "gzip", "zstd", "snappy", "x-snappy-framed"]) {
  Deno.test({
    name: `streamBody asks for no more of ${encoding} than its reader takes`,
    fn: async () => {
      const noise = new Uint8Array(2 * MIB);
      for (let at = 0; at < noise.length; at += 65_536) {
        crypto.getRandomValues(noise.subarray(at, at + 65_536));
      }
      const packed = PACK[encoding]?.(noise) ?? noise;
      const { request, source } = requestOf(cut(packed, [16_384]), encoding);
      let given = 0;
      for await (const piece of streamBody(request, { bytesMax: 32 * MIB })) {
        given += piece.byteLength;
        assert.ok(source.pulled - given < MIB / 2, `${source.pulled} pulled, ${given} given`);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      assert.equal(given, noise.length);
    },
  });
  Deno.test({
    name: `streamBody drains the rest of ${encoding} when its reader has enough`,
    fn: async () => {
      const packed = PACK[encoding]?.(utf8("a line\n".repeat(200_000))) ?? new Uint8Array();
      const { request, source } = requestOf(cut(packed, [50]), encoding);
      await assert.rejects(async () => {
        for await (const _ of streamBody(request, { bytesMax: 32 * MIB })) {
          throw new Error("enough");
        }
      }, /enough/);
      assert.equal(source.isOver, true);
      assert.equal(source.pulled, packed.byteLength);
      assert.equal(request.body?.locked, false);
    },
  });
}

const LATE = new OperatingError("deadline_exceeded", "late");

for (const encoding of ["identity", "gzip", "zstd", "snappy", "x-snappy-framed"]) {
  Deno.test({
    name: `streamBody ends at its signal while it waits for more ${encoding}, holding nothing`,
    fn: async () => {
      const packed = PACK[encoding]?.(utf8("a line\n")) ?? new Uint8Array();
      let isCancelled = false;
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(packed.subarray(0, 6)),
        cancel: () => void (isCancelled = true),
      });
      const headers = { "content-encoding": encoding };
      const request = new Request("http://x/", { method: "POST", headers, body });
      const budget = new ByteBudget(16 * MIB);
      {
        using hold = budget.hold();
        const controller = new AbortController();
        const limits: BodyStreamLimits = { bytesMax: MIB, hold, late: controller };
        setTimeout(() => controller.abort(LATE), 20);
        await assert.rejects(Array.fromAsync(streamBody(request, limits)), LATE);
      }
      assert.equal(isCancelled, true);
      assert.equal(budget.used, 0);
    },
  });
}

Deno.test({
  name: "streamBody refuses a zstd frame with a window over 8 MiB before decoding it",
  fn: async () => {
    for (const [log, refused] of [[23, false], [24, true]] as const) {
      // Magic number, a descriptor without flags, the window, one last raw block of "a".
      const window = (log - 10) << 3;
      const frame = new Uint8Array([0x28, 0xb5, 0x2f, 0xfd, 0, window, 9, 0, 0, 97]);
      const { request } = requestOf([frame], "zstd");
      const pieces = Array.fromAsync(streamBody(request, { bytesMax: MIB }));
      if (refused) {
        await assert.rejects(pieces, {
          reason: "bad_content_encoding",
          message: /window of 16.0 MiB is wider than 8.0 MiB/,
        });
      } else assert.deepEqual(concatBytes(await pieces), utf8("a"));
    }
  },
});

Deno.test({
  name: "streamBody refuses what its budget has no room for, and gives the decoder's part back",
  fn: async () => {
    const later = { code: "unavailable", retryAfterSecs: 1 };
    const never = { code: "too_large", retryAfterSecs: undefined };
    for (const encoding of ["identity", "gzip", "zstd", "snappy", "x-snappy-framed"]) {
      for (
        const [bytesMax, others, error] of [[MIB, 0, never], [16 * MIB, 15 * MIB, later]] as const
      ) {
        const packed = PACK[encoding]?.(new Uint8Array(2 * MIB)) ?? new Uint8Array();
        const { request } = requestOf(cut(packed, [30_000]), encoding);
        const budget = new ByteBudget(bytesMax);
        budget.take(others);
        using hold = budget.hold();
        const pieces = Array.fromAsync(streamBody(request, { bytesMax: 4 * MIB, hold }));
        await assert.rejects(pieces, error, `${encoding} within ${bytesMax}`);
        hold[Symbol.dispose]();
        assert.equal(budget.used, others);
      }
    }
  },
});

Deno.test({
  name:
    "streamBody gives a block of Snappy whatever its pieces, also where it is shorter than what tells frames",
  fn: async () => {
    const bytes = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 500 }),
      fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 90 }), fc.nat(4_000))
        .map(([unit, times]) => concatBytes(Array(times + 1).fill(unit))),
    );
    const sizes = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(bytes, sizes, async (plain, sizes) => {
        const { request } = requestOf(cut(snappyBlock(plain), sizes), "snappy");
        const pieces = await Array.fromAsync(streamBody(request, { bytesMax: MIB }));
        assert.deepEqual(concatBytes(pieces), plain);
      }),
      { numRuns: 120 },
    );
  },
});

Deno.test({
  name:
    "streamBody refuses a block of Snappy by the length that it announces, and takes no room for it",
  fn: async () => {
    // 4 GiB, and one byte more than the cap.
    for (const length of [[0xff, 0xff, 0xff, 0xff, 0x0f], [0x81, 0x80, 0x40]]) {
      const { request } = requestOf([Uint8Array.from([...length, ...Array(20).fill(0)])], "snappy");
      const budget = new ByteBudget(64 * MIB);
      using hold = budget.hold();
      const pieces = Array.fromAsync(streamBody(request, { bytesMax: MIB, hold }));
      await assert.rejects(pieces, { code: "too_large", reason: "body_too_large" });
      assert.equal(budget.used, 0);
    }
    // A length within the cap is believed as far as bytes come.
    const { request } = requestOf(
      [Uint8Array.from([0x80, 0x80, 0x40, 36, ...Array(10).fill(97)])],
      "snappy",
    );
    const budget = new ByteBudget(64 * MIB);
    using hold = budget.hold();
    const pieces = streamBody(request, { bytesMax: MIB, hold });
    assert.equal((await pieces.next()).value?.length, 10);
    assert.ok(budget.used < 128 * 1024, `${budget.used}`);
    await assert.rejects(Array.fromAsync(pieces), { reason: "bad_content_encoding" });
  },
});
