/**
 * Buffered answers, which are kept whole until their status is known: the bytes they may hold, and
 * how they are sent.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import type { ByteHold } from "../../shared/base/byte_budget.ts";
import { SEND_MS_MAX } from "../limits.ts";

/**
 * Charges `bytes` more to an answer. Errors: `unavailable` when the answers being sent fill their
 * room.
 */
export function growAnswer(hold: ByteHold, bytes: number): void {
  try {
    hold.grow(bytes);
  } catch (cause) {
    throw new OperatingError(
      "unavailable",
      "Cannot hold the answer: other answers being sent fill the server's room for them; " +
        'retry; a SQL request can ask for format "ndjson" instead, which streams',
      { reason: "answers_in_flight", retryAfterSecs: 1, cause },
    );
  }
}

/**
 * The body of an answer; `hold` is given back once the body is sent, or nobody takes it any more.
 */
export function sendHeld(
  parts: readonly Uint8Array<ArrayBuffer>[],
  hold: ByteHold,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const unsent = parts.values();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const release = () => {
    clearTimeout(timer);
    hold[Symbol.dispose]();
  };
  return new ReadableStream({
    start(controller) {
      timer = setTimeout(() => {
        release();
        controller.error(new Error(`the client did not take its answer in ${SEND_MS_MAX} ms`));
      }, SEND_MS_MAX);
    },
    pull(controller) {
      const next = unsent.next();
      if (!next.done) return controller.enqueue(next.value);
      release();
      controller.close();
    },
    cancel: release,
  }, { highWaterMark: 0 });
}
