/**
 * Responses that are pulled, never pushed. The next bytes are asked for only when the client has
 * room. A client that leaves ends the iterator (its `finally` runs), so that the work behind it
 * stops.
 */

import { utf8 } from "../base/bytes.ts";

/**
 * A 200 whose body is the concatenation of `chunks`; make them some 64 KiB. An error thrown by the
 * iterator cuts the connection. `init` names the content type.
 */
export function pulledResponse(
  chunks: AsyncIterable<string | Uint8Array>,
  init: ResponseInit & { readonly headers: Readonly<Record<string, string>> },
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
  return new Response(body, init);
}
