/**
 * `X-Svc-Idempotency-Key`: a sender's name for a request. When it is repeated with the same body
 * after a timeout or a lost response, the request is acknowledged and not stored again.
 * `shared/wal` remembers the key, per lane and for a bounded time, also over a crash.
 */

import { createHash, type Hash } from "node:crypto";
import { OperatingError } from "../shared/base/errors.ts";
import { DIGEST_BYTES, type FrameKey } from "../shared/wal/frame_key.ts";
import type { RequestFields } from "./admission.ts";

const HEADER = "x-svc-idempotency-key";
/** What fits a header of every client without quoting. */
const KEY = /^[\x21-\x7e]{1,255}$/;

/** Makes the frame key of a request from its body, as it comes. */
export interface BodyKey {
  add(piece: Uint8Array): void;
  /** Once, after the whole body. */
  finish(): FrameKey;
}

/**
 * What the request's head says, undefined without the header. Errors: `invalid_argument` for a key
 * that is empty, too long or not of visible ASCII characters (two headers become such a one).
 */
export function idempotencyOf(head: RequestFields, nowMs: number): BodyKey | undefined {
  const key = head.get(HEADER);
  if (key === null) return undefined;
  if (!KEY.test(key)) {
    const shown = key.length > 80 ? `${key.slice(0, 80)}…` : key;
    throw new OperatingError(
      "invalid_argument",
      `cannot use ${JSON.stringify(shown)} of header X-Svc-Idempotency-Key: it must be 1 to 255 ` +
        `visible ASCII characters, for example a UUID`,
      { reason: "bad_idempotency_key" },
    );
  }
  const body = createHash("sha256");
  return {
    add: (piece) => void body.update(piece),
    finish: () => ({
      digest: firstHalf(createHash("sha256").update(key)),
      bodyDigest: firstHalf(body),
      takenMs: nowMs,
    }),
  };
}

/** The key of a request whose body is there as a whole. */
export function keyOfBody(key: BodyKey | undefined, body: Uint8Array): FrameKey | undefined {
  key?.add(body);
  return key?.finish();
}

/** The first half of a SHA-256. */
function firstHalf(hash: Hash): Uint8Array {
  return new Uint8Array(hash.digest().subarray(0, DIGEST_BYTES));
}
