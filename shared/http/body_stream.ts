/**
 * Reading a request body piece by piece, decoded, under the same caps as `body.ts` reads it whole.
 *
 * Invariants: it holds a piece of the body and what its decoder needs, never the body. A piece is
 * read only when the reader asks for it, so that a sender waits for a slow reader. When the reading
 * ends early, the rest is drained (bounded in bytes and time), so that the sender reads the status
 * and not a reset.
 */

import { OperatingError } from "../base/errors.ts";
import { drainWire, incompleteBody, refuseAnnounced, unlessStopped } from "./body.ts";
import { type BodyCap, bodyTooLarge } from "./body_too_large.ts";
import { type BodyWire, wireOf } from "./body_wire.ts";
import type { ByteHold } from "../base/byte_budget.ts";
import type { Late } from "../base/with_deadline.ts";
import { badEncoding, requireKnownEncoding } from "./content_encoding.ts";
import { inflate } from "./inflate.ts";

export interface BodyStreamLimits extends BodyCap {
  /**
   * Charged with every decoded byte, for what the reader makes of it, and with what a decoder needs
   * while it runs; the caller disposes it after the request.
   */
  readonly hold?: ByteHold;
  /** Its signal ends the reading with its reason, an error, at once and without draining. */
  readonly late?: Pick<Late, "signal"> | undefined;
}

/**
 * Decoded pieces of a body, none empty, each good until the next one is asked for. Errors: those of
 * `readBody`, or the signal's reason.
 */
export async function* streamBody(
  request: Request,
  limits: BodyStreamLimits,
): AsyncGenerator<Uint8Array, void, undefined> {
  const wire = wireOf(request);
  try {
    refuseAnnounced(request, limits);
    const encoding = request.headers.get("content-encoding");
    const name = encoding === null ? "identity" : requireKnownEncoding(encoding);
    const pieces = wirePieces(wire, limits);
    yield* name === "identity"
      ? charged(pieces, limits)
      : decodedPieces(copied(pieces), { name, limits });
  } catch (error) {
    throw unlessStopped(error, request);
  } finally {
    if (wire !== undefined) await drainWire(wire);
  }
}

async function* wirePieces(
  wire: BodyWire | undefined,
  limits: BodyStreamLimits,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (wire === undefined) return;
  const signal = limits.late?.signal;
  signal?.throwIfAborted();
  limits.hold?.grow(wire.bufferBytes);
  // Ends a read that waits for a slow sender.
  const stop = () => wire.stop(signal?.reason);
  signal?.addEventListener("abort", stop);
  try {
    for (let total = 0;;) {
      const piece = await nextPiece(wire, signal);
      if (piece === undefined) return;
      total += piece.byteLength;
      if (total > limits.bytesMax) throw bodyTooLarge(limits);
      if (piece.byteLength > 0) yield piece;
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    limits.hold?.shrink(wire.bufferBytes);
  }
}

async function nextPiece(
  wire: BodyWire,
  signal: AbortSignal | undefined,
): Promise<Uint8Array | undefined> {
  try {
    return await wire.next();
  } catch (error) {
    throw incompleteBody(error);
  } finally {
    signal?.throwIfAborted();
  }
}

/** For those who keep a piece while they ask for the next one. */
async function* copied(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of pieces) yield piece.slice();
}

async function* charged(
  pieces: AsyncIterable<Uint8Array>,
  { hold }: BodyStreamLimits,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of pieces) {
    hold?.grow(piece.byteLength);
    yield piece;
  }
}

interface DecodeOptions {
  readonly name: string;
  readonly limits: BodyStreamLimits;
}

async function* decodedPieces(
  wire: AsyncIterable<Uint8Array>,
  { name, limits }: DecodeOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    let total = 0;
    for await (const piece of inflate(wire, name, { hold: limits.hold, cap: limits })) {
      total += piece.byteLength;
      if (total > limits.bytesMax) throw bodyTooLarge(limits, { decompressed: true });
      limits.hold?.grow(piece.byteLength);
      yield piece;
    }
  } catch (error) {
    throw error instanceof OperatingError ? error : badEncoding(name, error);
  }
}
