import assert from "node:assert/strict";
import fc from "fast-check";
import { isOperatingError } from "../base/errors.ts";
import { concatBytes } from "../base/bytes.ts";
import { NUMBERED_SCHEMA, numberedBatch, rowsOfMessage } from "../testing/numbered_rows.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { frameOf } from "../testing/wal_frame.ts";
import {
  decodeFrameHeader,
  decodeHeader,
  encodeHeader,
  finishFrames,
  FRAME_PAYLOAD_BYTES_MAX,
  FRAME_SUMMARY_BYTES_MAX,
  frameIsIntact,
  frameKeyOf,
  frameLengthMax,
  frameLengthOf,
  HEADER_BYTES_MAX,
  headerLengthOf,
  layFrames,
  messageBytesOf,
  messageOfFrame,
  summaryOfFrame,
} from "./format.ts";

const HEADER = {
  lane: { tenant: "acme", index: "web.logs" },
  createdMs: 1_795_208_645_123,
  schemaMessage: new Uint8Array([1, 2, 3, 4, 5]),
};

/** Whether the bytes pass as a frame, as the scanner decides it. */
function accepts(bytes: Uint8Array, frameSeed: number): boolean {
  const header = decodeFrameHeader(bytes);
  if (header === undefined || frameLengthOf(header) > bytes.byteLength) return false;
  return frameIsIntact(bytes.subarray(0, frameLengthOf(header)), header, frameSeed);
}

Deno.test({
  name: "encodeHeader() lays the header out as README.md draws it",
  fn() {
    const { bytes } = encodeHeader(HEADER);
    const view = new DataView(bytes.buffer);
    assert.equal(new TextDecoder().decode(bytes.subarray(0, 4)), "SVCW");
    assert.deepEqual([view.getUint16(4, true), view.getUint16(6, true)], [5, 0]);
    assert.equal(view.getUint32(8, true), bytes.byteLength);
    assert.equal(bytes.byteLength, 56); // 32 + 4 + 8 + 5 = 49, padded to 8.
    assert.equal(view.getBigInt64(16, true), 1_795_208_645_123n);
    assert.deepEqual([view.getUint16(24, true), view.getUint16(26, true)], [4, 8]);
    assert.equal(view.getUint32(28, true), 5);
    assert.equal(new TextDecoder().decode(bytes.subarray(32, 44)), "acmeweb.logs");
    assert.deepEqual([...bytes.subarray(44)], [1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0, 0]);
    const { lane, createdMs, schemaMessage } = decodeHeader(bytes, "here");
    assert.deepEqual({ lane, createdMs, schemaMessage }, HEADER);
  },
});

Deno.test({
  name: "finishFrames() lays a frame out as README.md draws it",
  fn() {
    const frame = frameOf(numberedBatch([7, 9]), 0);
    const view = new DataView(frame.buffer);
    assert.deepEqual(
      [view.getUint32(0, true), view.getUint32(8, true), view.getUint32(12, true)],
      [8, 2, 0],
    );
    assert.deepEqual([view.getBigInt64(16, true), view.getBigInt64(24, true)], [7n, 9n]);
    assert.equal(new TextDecoder().decode(frame.subarray(32)), "[7,9]   ");
    const reference = referenceCrc32(concatBytes([frame.subarray(0, 4), frame.subarray(8)]));
    assert.equal(view.getUint32(4, true), reference);
  },
});

Deno.test({
  name: "finishFrames() lays the key of a frame between header and message",
  fn() {
    const key = {
      digest: new Uint8Array(16).fill(0xaa),
      bodyDigest: new Uint8Array(16).fill(0xbb),
      takenMs: 1_795_208_645_123,
    };
    const frame = frameOf({ ...numberedBatch([7, 9]), key }, 0);
    const view = new DataView(frame.buffer);
    assert.equal(frame.byteLength, 32 + 40 + 8);
    assert.deepEqual([view.getUint32(0, true), view.getUint32(12, true)], [8, 40]);
    assert.deepEqual(frame.subarray(32, 48), key.digest);
    assert.deepEqual(frame.subarray(48, 64), key.bodyDigest);
    assert.equal(view.getBigInt64(64, true), 1_795_208_645_123n);
    assert.equal(new TextDecoder().decode(frame.subarray(72)), "[7,9]   ");
    const header = decodeFrameHeader(frame);
    assert(header !== undefined && frameIsIntact(frame, header, 0));
    assert.deepEqual(frameKeyOf(frame, header), key);
    frame[40] = 0;
    assert.equal(frameIsIntact(frame, header, 0), false);
    view.setUint32(12, 48, true);
    assert.equal(decodeFrameHeader(frame), undefined);
  },
});

Deno.test({
  name: "finishFrames() packs a long message as README.md draws it, unless that gains little",
  fn() {
    const key = { digest: new Uint8Array(16), bodyDigest: new Uint8Array(16), takenMs: 1 };
    const noise = new SeededRandom(1);
    const cases = [
      { what: "long", bytes: 100_000, isPacked: true },
      { what: "long, with a key", bytes: 100_000, key, isPacked: true },
      { what: "just long enough", bytes: 32_768, isPacked: true },
      { what: "short", bytes: 32_760, isPacked: false },
      { what: "noise", bytes: 100_000, noise, isPacked: false },
    ];
    for (const { what, bytes, key, noise, isPacked } of cases) {
      const options = { messageBytes: bytes, ...(noise === undefined ? {} : { noise }) };
      const batch = { ...numberedBatch([7, 9], options), ...(key === undefined ? {} : { key }) };
      const frame = frameOf(batch, 42);
      const header = decodeFrameHeader(frame) ?? assert.fail(what);
      assert.equal(header.isPacked, isPacked, what);
      assert.equal(messageBytesOf(frame, header), bytes, what);
      assert.ok(frameIsIntact(frame, header, 42), what);
      assert.deepEqual(messageOfFrame(frame, header), concatBytes([...batch.pieces]), what);
      const payloadAt = key === undefined ? 32 : 72;
      assert.equal(frame.byteLength, payloadAt + header.payloadBytes, what);
      assert.equal(frame.byteLength % 8, 0, what);
      if (!isPacked) continue;
      assert.ok(frame.byteLength < 500, what);
      const view = new DataView(frame.buffer, frame.byteOffset);
      assert.deepEqual([view.getUint16(12, true), view.getUint16(14, true)], [payloadAt - 32, 1]);
      assert.equal(view.getUint32(payloadAt, true), bytes);
      const packedEnd = payloadAt + 8 + view.getUint32(payloadAt + 4, true);
      assert.equal(view.getUint32(payloadAt + 8, true), 0xfd2fb528, "a zstd frame");
      assert.ok(frame.byteLength - packedEnd < 8);
      assert.ok(frame.subarray(packedEnd).every((byte) => byte === 0), what);
    }
  },
});

Deno.test({
  name:
    "messageOf() makes nothing of a packed message that is longer or shorter than it says, or damaged",
  fn() {
    const frame = frameOf(numberedBatch([7, 9], { messageBytes: 100_000 }), 42);
    const header = decodeFrameHeader(frame) ?? assert.fail();
    const whole = messageOfFrame(frame, header) ?? assert.fail();
    assert.deepEqual(rowsOfMessage(whole), [7, 9]);
    assert.equal(whole.byteOffset % 8, 0, "its buffers stay aligned");
    for (const said of [0, 99_992, 100_008, FRAME_PAYLOAD_BYTES_MAX, 0xffffffff]) {
      const forged = frame.slice();
      new DataView(forged.buffer).setUint32(32, said, true);
      assert.equal(messageOfFrame(forged, header), undefined, `${said} bytes`);
    }
    for (const said of [0, 8, 0xffffffff]) {
      const forged = frame.slice();
      new DataView(forged.buffer).setUint32(36, said, true);
      assert.equal(messageOfFrame(forged, header), undefined, `${said} packed bytes`);
    }
    const rubbish = frame.slice();
    rubbish.fill(0xaa, 40);
    assert.equal(messageOfFrame(rubbish, header), undefined);
    new DataView(rubbish.buffer).setUint16(14, 2, true);
    assert.equal(decodeFrameHeader(rubbish), undefined, "an unknown flag");
  },
});

/** CRC-32 bit by bit: independent of the native one. */
function referenceCrc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

Deno.test({
  name: "decodeHeader() refuses a header with any byte changed",
  fn() {
    const { bytes } = encodeHeader(HEADER);
    for (let at = 0; at < bytes.byteLength; at++) {
      for (const change of [0x01, 0x80, 0xff]) {
        const damaged = bytes.slice();
        damaged[at] = (damaged[at] ?? 0) ^ change;
        const version = new DataView(damaged.buffer).getUint16(4, true);
        assert.throws(
          () => {
            const length = headerLengthOf(damaged, "here");
            assert(length <= HEADER_BYTES_MAX);
            decodeHeader(damaged.subarray(0, length), "here");
          },
          (error) =>
            isOperatingError(error, version < 1 || version > 5 ? "unimplemented" : "corrupt"),
        );
      }
    }
  },
});

Deno.test({
  name: "frameIsIntact() refuses a frame with any byte changed, and one of another segment",
  fn() {
    const { frameSeed } = encodeHeader(HEADER);
    const frame = frameOf(numberedBatch([1, 2, 3], { messageBytes: 200 }), frameSeed);
    assert.equal(accepts(frame, frameSeed), true);
    for (let at = 0; at < frame.byteLength; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const damaged = frame.slice();
        damaged[at] = (damaged[at] ?? 0) ^ (1 << bit);
        assert.equal(accepts(damaged, frameSeed), false, `bit ${bit} of byte ${at}`);
      }
    }
    const other = encodeHeader({ ...HEADER, createdMs: HEADER.createdMs + 1 });
    assert.equal(accepts(frame, other.frameSeed), false);
  },
});

Deno.test({
  name: "decodeFrameHeader() bounds the length, and zeros are no frame",
  fn() {
    assert.equal(decodeFrameHeader(new Uint8Array(32)), undefined);
    const frame = frameOf(numberedBatch([1]), 0);
    new DataView(frame.buffer).setUint32(0, FRAME_PAYLOAD_BYTES_MAX + 8, true);
    assert.equal(decodeFrameHeader(frame), undefined);
  },
});

Deno.test({
  name:
    "finishFrames() gives back every batch, whatever lies before it and however it is cut in pieces",
  fn() {
    fc.assert(fc.property(
      fc.array(fc.uint8Array({ maxLength: 50 }), { minLength: 1 }),
      fc.record({
        rows: fc.integer({ min: 1, max: 0xffffffff }),
        timestampNsMin: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        timestampNsMax: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      }, { noNullPrototype: true }),
      fc.nat({ max: 70_000 }),
      fc.option(fc.nat({ max: FRAME_SUMMARY_BYTES_MAX / 8 })),
      (parts, fields, firstBytes, summaryWords) => {
        const partBytes = parts.reduce((sum, part) => sum + part.byteLength, 0);
        const pieces = [...parts, new Uint8Array((8 - partBytes % 8) % 8)];
        const message = concatBytes(pieces);
        const summary = new Uint8Array(8 * (summaryWords ?? 0)).fill(7);
        const batch = {
          ...fields,
          ...summaryWords === null ? {} : { summary },
          pieces,
          schema: NUMBERED_SCHEMA,
          byteLength: message.byteLength,
          plainBytes: message.byteLength,
        };
        const first = numberedBatch([1], { messageBytes: firstBytes });
        const into = new Uint8Array(frameLengthMax(first) + frameLengthMax(batch)).fill(0xee);
        const length = layFrames([first, batch], into);
        assert.equal(length, into.byteLength);
        const end = finishFrames(into, { length, frameSeed: 42 });
        const frame = into.subarray(end - frameLengthMax(batch), end);
        assert.deepEqual(into.subarray(0, end - frameLengthMax(batch)), frameOf(first, 42));
        const header = decodeFrameHeader(frame) ?? assert.fail();
        const { crc: _, keyBytes: __, payloadBytes, ...decoded } = header;
        const summaryBytes = summary.byteLength;
        assert.deepEqual(decoded, { ...fields, isPacked: false, summaryBytes });
        assert.equal(payloadBytes, message.byteLength);
        assert.deepEqual(summaryOfFrame(frame, header), summaryBytes === 0 ? undefined : summary);
        assert.deepEqual(messageOfFrame(frame, header), message);
        assert(accepts(frame, 42));
      },
    ));
  },
});
