/**
 * Header compression against the examples of RFC 7541, appendix C, and against what is not allowed.
 */

import assert from "node:assert/strict";
import { ConnectionError, Http2ErrorCode } from "./frames.ts";
import { encodeFields, HpackDecoder } from "./hpack.ts";
import type { Field } from "./hpack_tables.ts";

const hex = (text: string) => Uint8Array.fromHex(text.replaceAll(" ", ""));

const FIRST: readonly Field[] = [
  [":method", "GET"],
  [":scheme", "http"],
  [":path", "/"],
  [":authority", "www.example.com"],
];
const THIRD: readonly Field[] = [
  [":method", "GET"],
  [":scheme", "https"],
  [":path", "/index.html"],
  [":authority", "www.example.com"],
  ["custom-key", "custom-value"],
];

/** Blocks of one connection in their order. */
const EXAMPLES: { name: string; blocks: { block: string; fields: readonly Field[] }[] }[] = [
  {
    name: "C.2.1 literal with indexing",
    blocks: [{
      block: "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
      fields: [["custom-key", "custom-header"]],
    }],
  },
  {
    name: "C.2.2 literal without indexing",
    blocks: [{ block: "040c 2f73 616d 706c 652f 7061 7468", fields: [[":path", "/sample/path"]] }],
  },
  {
    name: "C.2.3 literal never indexed",
    blocks: [{
      block: "1008 7061 7373 776f 7264 0673 6563 7265 74",
      fields: [["password", "secret"]],
    }],
  },
  { name: "C.2.4 indexed", blocks: [{ block: "82", fields: [[":method", "GET"]] }] },
  {
    name: "C.3 requests without Huffman code",
    blocks: [
      { block: "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", fields: FIRST },
      {
        block: "8286 84be 5808 6e6f 2d63 6163 6865",
        fields: [...FIRST, ["cache-control", "no-cache"]],
      },
      {
        block: "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
        fields: THIRD,
      },
    ],
  },
  {
    name: "C.4 requests with Huffman code",
    blocks: [
      { block: "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", fields: FIRST },
      {
        block: "8286 84be 5886 a8eb 1064 9cbf",
        fields: [...FIRST, ["cache-control", "no-cache"]],
      },
      { block: "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", fields: THIRD },
    ],
  },
  {
    name: "a table that is emptied and opened again before the first field",
    blocks: [{ block: "20 3fe1 1f 82", fields: [[":method", "GET"]] }],
  },
];

for (const { name, blocks } of EXAMPLES) {
  Deno.test({
    name: `HpackDecoder decodes ${name}`,
    fn: () => {
      const decoder = new HpackDecoder(16_384);
      for (const { block, fields } of blocks) assert.deepEqual(decoder.decode(hex(block)), fields);
    },
  });
}

Deno.test({
  name: "HpackDecoder drops the oldest entries when the table is full or made smaller",
  fn: () => {
    const decoder = new HpackDecoder(16_384);
    const value = "v".repeat(1_000);
    const literal = (name: string) => {
      // Literal with indexing: 0x40, name, value of 1000 = 127 + 873.
      const head = [0x40, name.length, ...new TextEncoder().encode(name), 0x7f, 0xe9, 0x06];
      return Uint8Array.from([...head, ...new TextEncoder().encode(value)]);
    };
    for (const name of ["a", "b", "c", "d"]) decoder.decode(literal(name));
    // Four entries of 1033 bytes are over 4096: `a` is gone, `b` is the oldest at 61 + 3.
    assert.deepEqual(decoder.decode(hex("c0")), [["b", value]]);
    assert.throws(() => decoder.decode(hex("c1")), ConnectionError);
    const smaller = new HpackDecoder(16_384);
    smaller.decode(literal("a"));
    assert.deepEqual(smaller.decode(hex("20")), []);
    assert.throws(() => smaller.decode(hex("be")), ConnectionError);
  },
});

const BROKEN: { name: string; block: string; code?: number }[] = [
  { name: "index 0", block: "80" },
  { name: "an index that is not there", block: "be" },
  { name: "an integer without end", block: "ff ff ff ff ff ff ff" },
  { name: "an integer that is cut off", block: "ff" },
  { name: "a text that is cut off", block: "40 0a 63" },
  { name: "a table of more than was allowed", block: "3f e2 1f" },
  { name: "a table that is resized behind a field", block: "82 20" },
  { name: "a table that is resized three times", block: "20 3f e1 1f 20 82" },
  { name: "the end-of-string symbol", block: "00 84 ff ff ff ff 00" },
  { name: "padding with zeros", block: "00 81 00 00" },
  { name: "padding of a whole byte", block: "00 82 1f ff 00" },
];

for (const { name, block } of BROKEN) {
  Deno.test({
    name: `HpackDecoder refuses ${name}`,
    fn: () => {
      assert.throws(
        () => new HpackDecoder(16_384).decode(hex(block)),
        (error: unknown) =>
          error instanceof ConnectionError && error.code === Http2ErrorCode.COMPRESSION_ERROR,
      );
    },
  });
}

Deno.test({
  name: "HpackDecoder refuses a list over its bound, however few bytes it takes",
  fn: () => {
    const decoder = new HpackDecoder(1_000);
    // 42 bytes a field.
    assert.equal(decoder.decode(new Uint8Array(23).fill(0x82)).length, 23);
    assert.throws(
      () => decoder.decode(new Uint8Array(30).fill(0x82)),
      (error: unknown) =>
        error instanceof ConnectionError && error.code === Http2ErrorCode.ENHANCE_YOUR_CALM,
    );
  },
});

Deno.test({
  name: "encodeFields is what HpackDecoder decodes, for texts of every length around a prefix",
  fn: () => {
    for (const length of [0, 1, 126, 127, 128, 254, 255, 256, 383, 16_383, 20_000]) {
      const fields: Field[] = [[":status", "200"], ["grpc-message", "x".repeat(length)]];
      assert.deepEqual(new HpackDecoder(65_536).decode(encodeFields(fields)), fields);
    }
  },
});
