/**
 * Reading a request body piece by piece, decoded, under the same caps as `body.ts` reads it whole.
 *
 * Invariants: it holds a piece of the body and what its decoder needs, never the body. A piece is
 * read only when the reader asks for it, so that a sender waits for a slow reader. When the reading
 * ends early, the rest is drained (bounded in bytes and time), so that the sender reads the status
 * and not a reset.
 */

import { OperatingError } from "../base/errors.ts";
import { drainReader, incompleteBody, refuseAnnounced, unlessStopped } from "./body.ts";
import { type BodyCap, bodyTooLarge } from "./body_too_large.ts";
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

/** Decoded pieces of a body, none empty. Errors: those of `readBody`, or the signal's reason. */
export async function* streamBody(
  request: Request,
  limits: BodyStreamLimits,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = request.body?.getReader();
  try {
    refuseAnnounced(request, limits);
    const encoding = request.headers.get("content-encoding");
    const name = encoding === null ? "identity" : requireKnownEncoding(encoding);
    const wire = wirePieces(reader, limits);
    yield* name === "identity" ? charged(wire, limits) : decodedPieces(wire, { name, limits });
  } catch (error) {
    throw unlessStopped(error, request);
  } finally {
    if (reader !== undefined) {
      await drainReader(reader);
      reader.releaseLock();
    }
  }
}

type WireReader = ReadableStreamDefaultReader<Uint8Array>;

async function* wirePieces(
  reader: WireReader | undefined,
  limits: BodyStreamLimits,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (reader === undefined) return;
  const signal = limits.late?.signal;
  signal?.throwIfAborted();
  // Ends a read that waits for a slow sender.
  const stop = () => void reader.cancel().catch(() => {});
  signal?.addEventListener("abort", stop);
  try {
    for (let total = 0;;) {
      const { done, value } = await readPiece(reader, signal);
      if (done) return;
      total += value.byteLength;
      if (total > limits.bytesMax) throw bodyTooLarge(limits);
      if (value.byteLength > 0) yield value;
    }
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

async function readPiece(
  reader: WireReader,
  signal: AbortSignal | undefined,
): Promise<ReadableStreamReadResult<Uint8Array>> {
  try {
    return await reader.read();
  } catch (error) {
    throw incompleteBody(error);
  } finally {
    // Before all else: a cancelled body looks like one that ended.
    signal?.throwIfAborted();
  }
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
