/**
 * The one message of a call: five bytes of prefix (a flag and the length), then as many as it says.
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 *
 * Invariant: room for a message is charged before it is made, by its announced length; a compressed
 * one inflates to the cap at most.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import { type BodyCap, bodyTooLarge } from "../../shared/http/body_too_large.ts";
import type { ByteHold } from "../../shared/base/byte_budget.ts";
import { decodeContent } from "../../shared/http/content_encoding.ts";
import type { Http2Call } from "../../shared/http2/stream.ts";
import { ACCEPTED_ENCODINGS } from "./call_status.ts";

export interface MessageLimits extends BodyCap {
  /** Charged with every byte held; the caller disposes it after the call. */
  readonly hold: ByteHold;
}

const PREFIX_BYTES = 5;

/**
 * The decoded message of `call`. Errors: `too_large`, `invalid_argument` (not one whole message,
 * broken compression), `unimplemented` (encoding), `internal` (flag without one), `unavailable` (no
 * room), `cancelled`.
 */
export async function readMessage(call: Http2Call, limits: MessageLimits): Promise<Uint8Array> {
  const prefix = new Uint8Array(PREFIX_BYTES);
  let message: Uint8Array | undefined;
  let filled = 0;
  await call.receive((part) => {
    let rest = part;
    if (message === undefined) {
      const taken = rest.subarray(0, PREFIX_BYTES - filled);
      prefix.set(taken, filled);
      filled += taken.byteLength;
      if (filled < PREFIX_BYTES) return;
      message = roomFor(prefix, limits);
      filled = 0;
      rest = rest.subarray(taken.byteLength);
    }
    if (filled + rest.byteLength > message.byteLength) throw notOne("more than one message");
    message.set(rest, filled);
    filled += rest.byteLength;
  });
  if (message === undefined) throw notOne("no message");
  if (filled < message.byteLength) throw notOne("a message that is cut off");
  return prefix[0] === 0 ? message : decompressed(message, call, limits);
}

function roomFor(prefix: Uint8Array, limits: MessageLimits): Uint8Array {
  const length = new DataView(prefix.buffer).getUint32(1);
  if (length > limits.bytesMax) throw bodyTooLarge(limits, { announced: length });
  limits.hold.grow(length);
  return new Uint8Array(length);
}

function decompressed(message: Uint8Array, call: Http2Call, limits: MessageLimits): Uint8Array {
  const encoding = call.headers.get("grpc-encoding") ?? "identity";
  if (!ACCEPTED_ENCODINGS.some((known) => known === encoding)) {
    throw new OperatingError(
      "unimplemented",
      `cannot decode a message with grpc-encoding ${JSON.stringify(encoding)}: ` +
        `send one of ${ACCEPTED_ENCODINGS.join(", ")}`,
      { reason: "unsupported_grpc_encoding" },
    );
  }
  if (encoding === "identity") throw notCompressed();
  const body = decodeContent(message, encoding, limits);
  limits.hold.grow(body.byteLength);
  return body;
}

/** INTERNAL, as gRPC demands: https://github.com/grpc/grpc/blob/master/doc/compression.md */
function notCompressed(): OperatingError {
  return new OperatingError(
    "internal",
    "cannot read a message whose Compressed-Flag is set without a grpc-encoding: name the encoding or clear the flag",
    { reason: "bad_compressed_flag" },
  );
}

function notOne(found: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `cannot take a call of Export with ${found}: send one`,
    { reason: "not_one_message" },
  );
}
