/**
 * Reading a request body whole, under a cap that counts decompressed bytes.
 *
 * Invariants:
 * - It never holds more than cap + one chunk of a body, compressed or not.
 * - A refused body is drained (bounded in bytes and time) before the error is thrown, so that the
 *   sender reads the status and not a reset.
 * - A body that ends early fails, and what follows it is never seen: `shared/http1` enforces
 *   `Content-Length`.
 * - A body that stops half-way is charged after its deadline only if it was read while the budget
 *   was ample. Else it is given up.
 *
 * `body_stream.ts` reads one piece by piece.
 */

import { concatBytes } from "../base/bytes.ts";
import { isOperatingError, OperatingError } from "../base/errors.ts";
import { IncomingRequest } from "../http1/incoming_request.ts";
import { type BodyCap, bodyTooLarge } from "./body_too_large.ts";
import type { ByteHold } from "../base/byte_budget.ts";
import { decodeContent, requireKnownEncoding } from "./content_encoding.ts";
import { type Late, withDeadline } from "../base/with_deadline.ts";
import { isCutByStop } from "./serve.ts";

export interface BodyLimits extends BodyCap {
  /** Deadline of the whole body, where `late` does not end it. Default 30,000. */
  readonly readMsMax?: number;
  /** Its signal ends the reading with its reason, an error, at once and without draining. */
  readonly late?: Pick<Late, "signal"> | undefined;
  /** Charged with every byte held; the caller disposes it after the request. */
  readonly hold?: ByteHold;
}

/** A refused body is read and dropped up to here; a longer one is cut off. */
export const DRAIN_BYTES_MAX = 64 * 1024 * 1024;
export const DRAIN_MS_MAX = 5_000;
export const BODY_READ_MS_MAX = 30_000;

/**
 * The decoded body of `request`. Errors: `too_large`, `unsupported_media_type` (encoding),
 * `invalid_argument` (broken encoding, or the sender hung up), `deadline_exceeded`, `unavailable`
 * (no room, or the server stops).
 */
export async function readBody(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const { hold } = limits;
  try {
    const encoding = request.headers.get("content-encoding");
    if (encoding !== null) requireKnownEncoding(encoding);
    const wire = await readWire(request, limits);
    if (encoding === null) return wire;
    const body = decodeContent(wire, encoding, limits);
    if (body !== wire) hold?.grow(body.byteLength);
    return body;
  } catch (error) {
    await drainBody(request);
    throw unlessStopped(error, request);
  }
}

/**
 * Reads and drops what is left of a body that will not be used, within bounds; one that its sender
 * was not asked for (`Expect: 100-continue`) never comes. Never throws.
 */
export async function drainBody(request: Request): Promise<void> {
  if (request instanceof IncomingRequest && request.waitsToBeAsked) return;
  if (request.body === null || request.body.locked) return;
  await drainReader(request.body.getReader());
}

/** Drains a body that has a reader, also while it reads. `drainBody` says how far. */
export async function drainReader(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const timer = setTimeout(() => reader.cancel().catch(ignore), DRAIN_MS_MAX);
  try {
    for (let dropped = 0; dropped < DRAIN_BYTES_MAX;) {
      const { done, value } = await reader.read();
      if (done) return;
      dropped += value.byteLength;
    }
    await reader.cancel();
  } catch {
    // The sender is gone: nobody is left to be polite to.
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Throws `too_large` when the sender announces more than the cap; what it announces, if anything.
 */
export function refuseAnnounced(request: Request, cap: BodyCap): number | undefined {
  const announced = request.headers.get("content-length");
  if (announced === null || !/^[0-9]{1,15}$/.test(announced)) return undefined;
  const length = Number(announced);
  if (length > cap.bytesMax) throw bodyTooLarge(cap, { announced: length });
  return length;
}

const INCOMPLETE = "body_incomplete";

/** For a body whose reading failed with `error`. */
export function incompleteBody(error: unknown): OperatingError {
  return new OperatingError(
    "invalid_argument",
    "cannot read the request body: it ended before its end was due; send all of the announced bytes, " +
      "or in chunks the last one",
    { reason: INCOMPLETE, cause: error },
  );
}

/** `error`, or 503 where something else than the sender ended the body of `request`. */
export function unlessStopped(error: unknown, request: Request): unknown {
  if (!isOperatingError(error) || error.reason !== INCOMPLETE || !isCutByStop(request)) {
    return error;
  }
  return new OperatingError(
    "unavailable",
    "cannot read the rest of the request body: this server stops; send the request again",
    { reason: "stopping", retryAfterSecs: 1, cause: error },
  );
}

function readWire(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const length = refuseAnnounced(request, limits);
  if (length === undefined) return readChunks(request, limits);
  limits.hold?.grow(length);
  // The fast way, which nothing ends but the sender: bodies that never end keep no more than this
  // share of the budget.
  if (limits.hold?.isAmple ?? true) return withinDeadline(request.bytes(), limits);
  const { hold: _charged, ...uncharged } = limits;
  return readChunks(request, uncharged);
}

async function readChunks(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const signal = limits.late?.signal;
  signal?.throwIfAborted();
  if (request.body === null) return new Uint8Array(0);
  const reader = request.body.getReader();
  // Ends a read that waits for a slow sender.
  const stop = () => void reader.cancel().catch(ignore);
  signal?.addEventListener("abort", stop);
  try {
    const body = await withinDeadline(collect(reader, limits), limits);
    signal?.throwIfAborted();
    return body;
  } catch (error) {
    if (isOperatingError(error, "deadline_exceeded")) stop();
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
    reader.releaseLock();
  }
}

async function collect(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limits: BodyLimits,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let total = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    total += value.byteLength;
    if (total > limits.bytesMax) throw bodyTooLarge(limits);
    limits.hold?.grow(value.byteLength);
    parts.push(value);
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : concatBytes(parts);
}

async function withinDeadline(
  reading: Promise<Uint8Array>,
  limits: BodyLimits,
): Promise<Uint8Array> {
  const { readMsMax: msMax = BODY_READ_MS_MAX, late } = limits;
  const what = "the request body did not arrive (send it faster or in smaller batches)";
  try {
    return late === undefined ? await withDeadline({ msMax, what }, () => reading) : await reading;
  } catch (error) {
    throw error instanceof OperatingError ? error : incompleteBody(error);
  }
}

function ignore(): void {}
