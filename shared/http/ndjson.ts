/**
 * NDJSON responses: pulled, never pushed. The next lines are asked for only when the client has
 * room. A client that leaves ends the iterator (its `finally` runs), so that the work behind it
 * stops.
 */

import { utf8 } from "../base/bytes.ts";

export const NDJSON_CONTENT_TYPE = "application/x-ndjson";

/**
 * A 200 whose body is the concatenation of `chunks`. A chunk is whole lines, each with its line
 * feed, and may hold many: make them some 64 KiB. An error thrown by the iterator cuts the
 * connection: put a last line that tells about it (the `_meta` trailer) into the iterator itself.
 */
export function ndjsonResponse(
  chunks: AsyncIterable<string | Uint8Array>,
  init: ResponseInit = {},
): Response {
  const iterator = chunks[Symbol.asyncIterator]();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await iterator.next();
      if (next.done) return controller.close();
      controller.enqueue(typeof next.value === "string" ? utf8(next.value) : next.value);
    },
    async cancel() {
      await iterator.return?.();
    },
  }, { highWaterMark: 1 });
  const headers = new Headers(init.headers);
  if (!headers.has("content-type")) headers.set("content-type", NDJSON_CONTENT_TYPE);
  return new Response(body, { ...init, headers });
}
