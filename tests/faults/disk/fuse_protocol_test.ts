import assert from "node:assert/strict";
import {
  answerOf,
  attributesBody,
  entryBody,
  Errno,
  nameOf,
  Opcode,
  parseRequest,
  readRange,
  ROOT_NODE,
  writtenBytes,
} from "./fuse_protocol.ts";

/** A request as `linux/fuse.h` lays it: head, then the opcode's body. */
function requestBytes(opcode: number, body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(40 + body.byteLength);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.byteLength, true);
  view.setUint32(4, opcode, true);
  view.setBigUint64(8, 77n, true);
  view.setBigUint64(16, 2n, true);
  bytes.set(body, 40);
  return bytes;
}

Deno.test("parseRequest reads head and body, and refuses a length that lies", () => {
  const bytes = requestBytes(Opcode.LOOKUP, new TextEncoder().encode("disk\0"));
  const request = parseRequest(bytes);
  assert.equal(request.unique, 77n);
  assert.equal(request.node, 2);
  assert.equal(nameOf(request), "disk");
  assert.throws(() => parseRequest(bytes.subarray(0, 42)), /says 45 bytes and has 42/);
});

Deno.test("writtenBytes has the offset and the bytes behind the head of a WRITE", () => {
  const body = new Uint8Array(40 + 3);
  const view = new DataView(body.buffer);
  view.setBigUint64(8, 0x1_0000_0000n, true);
  view.setUint32(16, 3, true);
  body.set([7, 8, 9], 40);
  const { offset, bytes } = writtenBytes(parseRequest(requestBytes(Opcode.WRITE, body)));
  assert.equal(offset, 0x1_0000_0000);
  assert.deepEqual([...bytes], [7, 8, 9]);
  assert.deepEqual(readRange(parseRequest(requestBytes(Opcode.READ, body))), {
    offset: 0x1_0000_0000,
    bytes: 3,
  });
});

Deno.test("answerOf has a negated error and no body, or 0 and the body", () => {
  const failed = new DataView(answerOf(5n, Errno.EIO).buffer);
  assert.deepEqual([failed.byteLength, failed.getInt32(4, true)], [16, -Errno.EIO]);
  const answer = answerOf(5n, new Uint8Array([1, 2]));
  const view = new DataView(answer.buffer);
  assert.deepEqual([view.getUint32(0, true), view.getInt32(4, true)], [18, 0]);
  assert.equal(view.getBigUint64(8, true), 5n);
  assert.deepEqual([...answer.subarray(16)], [1, 2]);
});

Deno.test("bodies of attributes and entries have the sizes that the kernel expects", () => {
  assert.equal(attributesBody(ROOT_NODE).byteLength, 104);
  const entry = new DataView(entryBody(2, 4_096).buffer);
  assert.equal(entry.byteLength, 128);
  assert.equal(entry.getBigUint64(0, true), 2n);
  assert.equal(entry.getBigUint64(48, true), 4_096n, "the file's size");
});
