/**
 * The bytes of a request's body as they come, whatever the request is made of. A request of
 * `shared/http1` hands out the bytes in its connection's buffer. Any other one has a stream.
 *
 * Invariant: one reader at a time, so that what is left can be drained by whoever comes after it.
 */

import { IncomingRequest } from "../http1/incoming_request.ts";
import { HTTP1_LIMITS } from "../http1/limits.ts";
import type { RequestBody } from "../http1/request_body.ts";

export interface BodyWire {
  /**
   * The next bytes, good until the next call; undefined at the end. Errors: those of the
   * connection, and the reason of `stop`.
   */
  next(): Promise<Uint8Array | undefined>;
  /** Reads and drops some of what is left; how many bytes, 0 at the end. */
  skip(): Promise<number>;
  /** All bytes that are left, of a body whose length was announced; undefined: no such way. */
  readonly whole: (() => Promise<Uint8Array>) | undefined;
  /** What its connection takes for the bytes on their way. */
  readonly bufferBytes: number;
  /** Ends a read that waits for a slow sender, and later ones. */
  stop(reason: Error): void;
  /** Lets go of the body. */
  release(): void;
}

/** Undefined: it has no body, or somebody else reads it, or its sender waits to be asked for it. */
export function wireOf(request: Request): BodyWire | undefined {
  if (request instanceof IncomingRequest) {
    const body = request.takeBody();
    return body && wireOfConnection(body);
  }
  return request.body === null || request.body.locked ? undefined : wireOfStream(request.body);
}

function wireOfConnection(body: RequestBody): BodyWire {
  return {
    next: () => body.view(),
    skip: () => body.skip(),
    whole: body.isAnnounced ? () => body.bytes() : undefined,
    bufferBytes: HTTP1_LIMITS.chunkedBufferBytes,
    stop: (reason) => body.cut(reason),
    release: () => {},
  };
}

function wireOfStream(stream: ReadableStream<Uint8Array>): BodyWire {
  const reader = stream.getReader();
  let stopped: Error | undefined;
  const next = async () => {
    const { done, value } = await reader.read();
    // A body that is cancelled looks like one that ended.
    if (stopped !== undefined) throw stopped;
    return done ? undefined : value;
  };
  return {
    next,
    skip: async () => (await next())?.byteLength ?? 0,
    whole: undefined,
    bufferBytes: 0,
    stop: (reason) => {
      stopped = reason;
      reader.cancel(reason).catch(() => {});
    },
    release: () => reader.releaseLock(),
  };
}
