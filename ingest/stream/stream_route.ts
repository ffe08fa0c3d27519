/**
 * `GET /api/v1/stream`: Server-Sent Events of the rows of the caller's tenant as they arrive,
 * before they are stored (docs/api/follow.md#the-stream). No history, no filter.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import type { Admission, Peer } from "../admission.ts";
import type { StreamHub } from "./stream_hub.ts";

export interface StreamDeps {
  readonly admission: Pick<Admission, "admit">;
  readonly hub: Pick<StreamHub, "open">;
}

/** `no-transform` keeps the runtime from compressing events, which would hold them back. */
const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
} as const;

/**
 * The route's handler. Throws what the access check throws, `invalid_argument` and `unavailable`.
 */
export function createStreamRoute(
  { admission, hub }: StreamDeps,
): (request: Request, query: string, peer: Peer) => Promise<Response> {
  return async (request, query, peer) => {
    const tenant = await admission.admit(request.headers, peer);
    if (new URLSearchParams(query).has("filter")) {
      throw new OperatingError(
        "invalid_argument",
        "cannot filter the stream: take filter out of the query and filter what arrives",
        { reason: "filter_unsupported" },
      );
    }
    if (request.method === "HEAD") return new Response(null, { headers: HEADERS });
    const reader = hub.open(tenant);
    request.signal.addEventListener("abort", () => reader.leave(), { once: true });
    return new Response(reader.body, { headers: HEADERS });
  };
}
