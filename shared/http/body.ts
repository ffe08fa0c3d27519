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

import { concatBytes, freeBytes } from "../base/bytes.ts";
import { isOperatingError, OperatingError } from "../base/errors.ts";
import { IncomingRequest } from "../http1/incoming_request.ts";
import { Refusal } from "../http1/refusal.ts";
import { type BodyCap, bodyTooLarge } from "./body_too_large.ts";
import type { ByteHold } from "../base/byte_budget.ts";
import { type BodyWire, wireOf } from "./body_wire.ts";
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
const DRAIN_BYTES_MAX = 64 * 1024 * 1024;
const DRAIN_MS_MAX = 5_000;
const BODY_READ_MS_MAX = 30_000;

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
  const wire = wireOf(request);
  if (wire !== undefined) await drainWire(wire);
}

/** Drains a body that was read in part. `drainBody` says how far. */
export async function drainWire(wire: BodyWire): Promise<void> {
  const stop = () => wire.stop(new TypeError("nobody wants the rest of the body"));
  const timer = setTimeout(stop, DRAIN_MS_MAX);
  try {
    for (let dropped = 0; dropped < DRAIN_BYTES_MAX;) {
      const count = await wire.skip();
      if (count === 0) return;
      dropped += count;
    }
    stop();
  } catch {
    // The sender is gone: nobody is left to be polite to.
  } finally {
    clearTimeout(timer);
    wire.release();
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
  const why = error instanceof Refusal
    ? `${error.message}; send chunks as section 7.1 of RFC 9112 has them`
    : "it ended before its end was due; send all of the announced bytes, or in chunks the last one";
  return new OperatingError("invalid_argument", `cannot read the request body: ${why}`, {
    reason: INCOMPLETE,
    cause: error,
  });
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

async function readWire(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const { hold } = limits;
  const length = refuseAnnounced(request, limits);
  if (length !== undefined) hold?.grow(length);
  const wire = wireOf(request);
  if (wire === undefined) return new Uint8Array(0);
  // A signal for each body would cost more than it is worth while there is room: bodies that never
  // end keep no more than this share of the budget.
  const signal = length !== undefined && (hold?.isAmple ?? true) ? undefined : limits.late?.signal;
  const stop = () => wire.stop(signal?.reason);
  signal?.throwIfAborted();
  signal?.addEventListener("abort", stop);
  try {
    const { hold: _charged, ...uncharged } = limits;
    const reading = wire.whole?.() ?? collect(wire, length === undefined ? limits : uncharged);
    return await withinDeadline(reading, limits);
  } catch (error) {
    if (isOperatingError(error, "deadline_exceeded")) wire.stop(error);
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
    wire.release();
  }
}

async function collect(wire: BodyWire, limits: BodyLimits): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let total = 0;
  for (let part = await wire.next(); part !== undefined; part = await wire.next()) {
    total += part.byteLength;
    if (total > limits.bytesMax) throw bodyTooLarge(limits);
    limits.hold?.grow(part.byteLength);
    parts.push(part.slice());
  }
  const whole = concatBytes(parts);
  parts.forEach(freeBytes);
  return whole;
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
