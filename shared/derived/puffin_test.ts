import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { utf8 } from "../base/bytes.ts";
import { readPuffinTail, writePuffin } from "./puffin.ts";

const BLOBS = [
  { type: "a-v1", fields: [1, 2], data: utf8("first"), properties: { tokenizer: "default" } },
  { type: "b-v1", fields: [], data: new Uint8Array(0) },
  { type: "c-v1", fields: [7], data: utf8("third") },
];

function footerOf(file: Uint8Array) {
  const tail = readPuffinTail(file, { size: file.byteLength, what: "f.puffin" });
  assert.ok("footer" in tail);
  return tail.footer;
}

Deno.test("puffin a file gives back its blobs and properties", () => {
  const file = writePuffin(BLOBS, { "created-by": "svc" });
  const { blobs, properties } = footerOf(file);
  assert.equal(properties["created-by"], "svc");
  assert.deepEqual(
    blobs.map(({ type, fields, offset, length, properties }) => ({
      type,
      fields,
      data: file.slice(offset, offset + length),
      ...(Object.keys(properties).length === 0 ? {} : { properties }),
    })),
    BLOBS,
  );
});

Deno.test("puffin the layout is Iceberg's: magic, blobs, footer, and what readers require of a blob", () => {
  const file = writePuffin(BLOBS);
  const text = new TextDecoder("latin1").decode(file);
  assert.ok(text.startsWith("PFA1firstthirdPFA1{"));
  assert.ok(text.endsWith("\0\0\0\0PFA1"));
  const payload = JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
  for (const blob of payload.blobs) {
    assert.equal(blob["snapshot-id"], -1);
    assert.equal(blob["sequence-number"], -1);
  }
});

Deno.test("puffin a tail that is too short says how many bytes it takes", () => {
  const file = writePuffin(BLOBS);
  const size = file.byteLength;
  const tail = readPuffinTail(file.subarray(-12), { size, what: "f" });
  assert.ok("bytesNeeded" in tail);
  const whole = readPuffinTail(file.subarray(-tail.bytesNeeded), { size, what: "f" });
  assert.ok("footer" in whole);
});

Deno.test("puffin a flipped bit of the footer is refused", () => {
  const file = writePuffin(BLOBS, { "created-by": "svc" });
  const start = new TextDecoder("latin1").decode(file).lastIndexOf("PFA1{");
  for (let at = start; at < file.byteLength; at += 1) {
    for (let bit = 0; bit < 8; bit += 1) {
      const damaged = file.slice();
      damaged[at] = (damaged[at] ?? 0) ^ (1 << bit);
      assert.throws(
        () => {
          const tail = readPuffinTail(damaged, { size: damaged.byteLength, what: "f.puffin" });
          // A length that grew asks for bytes which the file does not have.
          assert.ok("footer" in tail);
        },
        (error) => isOperatingError(error, "corrupt") || error instanceof assert.AssertionError,
        `byte ${at} bit ${bit}`,
      );
    }
  }
});

Deno.test("puffin a file that was cut is refused, at every length", () => {
  const file = writePuffin(BLOBS);
  for (let length = 0; length < file.byteLength; length += 1) {
    const cut = file.subarray(0, length);
    assert.throws(
      () => readPuffinTail(cut, { size: length, what: "f.puffin" }),
      (error) => isOperatingError(error, "corrupt"),
    );
  }
});
