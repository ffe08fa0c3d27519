/**
 * Prebuilt bulk bodies for load: documents with what the OTLP bodies' log records have, one action
 * line each.
 */

import type { BodyOptions } from "./otlp_bodies.ts";

const SERVICES = ["checkout", "cart", "payment", "search", "frontend"];
const PATHS = ["/api/cart", "/api/checkout", "/api/search?q=shoes", "/healthz", "/api/items/8731"];
const ACTION = '{"index":{"_index":"events"}}';

/** Some 450 bytes a document. Deterministic. */
export function bulkBody({ records, startNs, first = 0 }: BodyOptions): Uint8Array<ArrayBuffer> {
  const startMs = Number(startNs / 1_000_000n);
  const lines = Array.from({ length: records }, (_, i) => {
    const document = JSON.stringify(documentOf(first + i, startMs + i));
    return `${ACTION}\n${document}\n`;
  });
  return new TextEncoder().encode(lines.join(""));
}

function documentOf(seq: number, timeMs: number) {
  const path = PATHS[seq % PATHS.length] ?? "";
  return {
    "@timestamp": new Date(timeMs).toISOString(),
    "host.name": `node-${seq % 17}.example.internal`,
    "service.name": SERVICES[seq % SERVICES.length],
    message: `request ${seq} served: GET ${path} from 10.1.${seq % 251}.${seq % 13} in ${
      seq % 977
    } ms, 200 OK, upstream cart-${seq % 7}.internal:8443 answered after ${seq % 613} ms`,
    "log.level": "info",
    "http.method": "GET",
    "http.target": path,
    "http.status_code": seq % 19 === 0 ? 500 : 200,
    "user.id": `u-${seq % 10_007}`,
    "region.zone": `eu-central-1${"abc"[seq % 3]}`,
    seq,
  };
}
