/** A sender that keeps its rate, whatever the server does: it waits for no answer. */

import { otlpLogsBody } from "./otlp_bodies.ts";

const ROWS_PER_REQUEST = 200;

/** Sends logs to an ingest server until aborted; returns the acknowledged rows per second. */
export async function sendSteadily(
  url: string,
  rowsPerSec: number,
  signal: AbortSignal,
): Promise<number> {
  const periodMs = 1_000 * ROWS_PER_REQUEST / rowsPerSec;
  const start = performance.now();
  const inFlight = new Set<Promise<void>>();
  let acknowledged = 0;
  for (let request = 0; !signal.aborted; request += 1) {
    const waitMs = start + request * periodMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const sent = send(url, request).then((rows) => {
      acknowledged += rows;
      inFlight.delete(sent);
    });
    inFlight.add(sent);
  }
  await Promise.all(inFlight);
  return acknowledged / ((performance.now() - start) / 1_000);
}

async function send(url: string, request: number): Promise<number> {
  const response = await fetch(`${url}/v1/logs`, {
    method: "POST",
    headers: { "content-type": "application/x-protobuf" },
    body: otlpLogsBody({
      records: ROWS_PER_REQUEST,
      first: request * ROWS_PER_REQUEST,
      startNs: BigInt(Date.now()) * 1_000_000n,
    }),
  });
  await response.body?.cancel();
  return response.status === 200 ? ROWS_PER_REQUEST : 0;
}
