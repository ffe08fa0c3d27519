/**
 * A server whose budget of bodies in flight is used up: it refuses with 503 until this is disposed.
 * For tests only.
 */

import { LIMITS } from "../../ingest/flags.ts";
import { MEMORY_PARTS } from "../../ingest/memory_parts.ts";
import { metricReaches } from "./metric_wait.ts";
import type { RunningIngest } from "./running_ingest.ts";

/** Default of `SVC_INGEST_MAX_BODY_BYTES`. */
const BODY_BYTES_MAX = 16 * 1024 * 1024;
/** What all bodies have without `--ingest-mem-limit-mib`. */
const BODIES_BYTES_MAX = MEMORY_PARTS.bodies.max;
/** So little stays that no request fits. */
const LEFT_BYTES = LIMITS.requestBytes / 2;

export class FullServer implements Disposable {
  readonly #connections: Deno.TcpConn[] = [];

  /** Returns once requests with a body are refused. No other request may be under way meanwhile. */
  static async of(ingest: RunningIngest): Promise<FullServer> {
    const full = new FullServer();
    let freeBytes = BODIES_BYTES_MAX;
    while (freeBytes > LIMITS.requestBytes) {
      const fitting = freeBytes - LIMITS.requestBytes - LEFT_BYTES;
      const bytes = Math.min(fitting, BODY_BYTES_MAX);
      full.#connections.push(await announce(ingest.url, bytes));
      freeBytes -= LIMITS.requestBytes + bytes;
    }
    const held = BODIES_BYTES_MAX - LIMITS.requestBytes;
    await metricReaches(ingest, "svc_ingest_bodies_in_flight_bytes", held);
    return full;
  }

  [Symbol.dispose](): void {
    for (const connection of this.#connections) connection.close();
    this.#connections.length = 0;
  }
}

/**
 * A connection that announces a body and never sends it: OTLP bodies are charged by what they
 * announce.
 */
async function announce(url: string, bytes: number): Promise<Deno.TcpConn> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const head = "POST /v1/logs HTTP/1.1\r\nHost: localhost\r\n" +
    `Content-Type: application/x-protobuf\r\nContent-Length: ${bytes}\r\n\r\n`;
  await connection.write(new TextEncoder().encode(head));
  return connection;
}
