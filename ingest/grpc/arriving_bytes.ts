/**
 * The bytes of a message while it arrives.
 *
 * The gRPC library hands a message over when it is whole and keeps its parts until then, up to the
 * cap for each call: half-sent messages would be held beside the budget that bounds bodies in
 * flight. It has no hook for that, so this reads what its calls keep to themselves, the HTTP/2
 * stream below (pinned version 1.14.7; `arriving_bytes_test.ts` fails where that moves).
 */

import { assert } from "../../shared/base/assert.ts";

interface ByteStream {
  on(event: "data", listener: (part: Uint8Array) => void): unknown;
}

/** Calls `listener` with the length of every part of `call`'s body from now on. */
export function onArrivingBytes(call: object, listener: (byteLength: number) => void): void {
  const { call: inner } = call as { call?: { stream?: ByteStream } };
  assert(inner?.stream !== undefined, "a call of the gRPC library has its HTTP/2 stream");
  inner.stream.on("data", (part) => listener(part.byteLength));
}
