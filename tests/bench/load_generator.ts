/**
 * Drives one HTTP server with prebuilt bodies over keep-alive connections and prints what was
 * acknowledged. It writes and reads raw HTTP/1.1 on TCP: `fetch` costs more per request than the
 * servers under load.
 *
 * The path says whether bodies are logs, spans or bulk documents.
 *
 * Without a rate each connection sends its next request when it has its answer. With one, requests
 * are due at even distances and whichever connection is free sends the next.
 *
 * A request that is past due because every connection waited for the server counts from when it was
 * due. So a server that stalls is charged for all that waited behind the stall. A request for which
 * a connection was free counts from when it was sent. How late that was is this process's doing,
 * and reported beside it. Nothing spins to be on time, since that would take half of the machine
 * that the server is to run on. A thread sleeps until each is due (`metronome.ts`).
 *
 * Usage: `load_generator.ts <port> <path> <seconds> <records per request> <connections> [requests
 * per second]`, 0 for no rate; one JSON line on stdout, a `LoadReport` of drive_load.ts. A status
 * other than 200 ends the run with an error.
 */

import { percentile } from "./benchmark.ts";
import { bulkBody } from "./bulk_bodies.ts";
import type { LoadReport } from "./drive_load.ts";
import { nowMs } from "./metronome.ts";
import { otlpLogsBody, otlpTracesBody } from "./otlp_bodies.ts";

const KINDS = {
  "/v1/logs": { build: otlpLogsBody, contentType: "application/x-protobuf" },
  "/v1/traces": { build: otlpTracesBody, contentType: "application/x-protobuf" },
  "/api/v1/_compat/_bulk": { build: bulkBody, contentType: "application/x-ndjson" },
} as const;
const BODIES = 8;
const WARM_UP_SECS = 0.5;
/** With a rate, for threads and connections to be there. */
const START_MS = 200;

const [port = "", path = "", seconds = "", records = "", connections = "", rate = "0"] = Deno.args;
const startNs = BigInt(Date.now()) * 1_000_000n;
const { build, contentType } = KINDS[path as keyof typeof KINDS];
const requests = Array.from({ length: BODIES }, (_, i) => {
  const body = build({
    records: Number(records),
    startNs: startNs + BigInt(i) * 1_000_000_000n,
    first: i * Number(records),
  });
  const head = new TextEncoder().encode(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: ${contentType}\r\n` +
      `content-length: ${body.byteLength}\r\n\r\n`,
  );
  const whole = new Uint8Array(head.byteLength + body.byteLength);
  whole.set(head);
  whole.set(body, head.byteLength);
  return whole;
});

const periodMs = Number(rate) > 0 ? 1_000 / Number(rate) : 0;
const begun = nowMs() + (periodMs > 0 ? START_MS : 0);
const from = begun + WARM_UP_SECS * 1_000;
const until = from + Number(seconds) * 1_000;
const tookMs: number[] = [];
const lateMs: number[] = [];
let bytes = 0;
let answers = 0;
/** Requests that are due and have no connection: when each was. */
const overdue: number[] = [];
/** Connections that have no request. */
const idle: ((due: number) => void)[] = [];

/** One connection: a request, its answer, the next. */
async function drive(lane: number): Promise<void> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
  connection.setNoDelay(true);
  const buffer = new Uint8Array(16 * 1024);
  for (let turn = lane;; turn++) {
    const request = requests[turn % BODIES] ?? new Uint8Array(0);
    const sent = periodMs === 0 ? nowMs() : await nextDue();
    if (sent >= until) return;
    for (let at = 0; at < request.byteLength;) at += await connection.write(request.subarray(at));
    await readAnswer(connection, buffer);
    const answered = nowMs();
    answers += 1;
    if (sent >= from && (periodMs > 0 || answered <= until)) {
      tookMs.push(answered - sent);
      bytes += request.byteLength;
    }
  }
}

/** Waits for the next request that is due; returns when to count from. */
async function nextDue(): Promise<number> {
  const waiting = overdue.shift();
  if (waiting !== undefined) return waiting;
  const due = await new Promise<number>((resolve) => idle.push(resolve));
  const now = nowMs();
  if (due >= until) return due;
  if (due >= from) lateMs.push(now - due);
  return now;
}

/**
 * Hands out what is due until all of it is, and one more for each connection, which tells it to
 * end.
 */
function startBeating(): Worker {
  const metronome = new Worker(new URL("./metronome.ts", import.meta.url), { type: "module" });
  const count = Math.ceil((until - begun) / periodMs);
  metronome.onmessage = ({ data: beat }: MessageEvent<number>) => {
    hand(begun + beat * periodMs);
    if (beat === count - 1) { for (let lane = 0; lane < Number(connections); lane++) hand(until); }
  };
  metronome.postMessage({ beginMs: begun, periodMs, count });
  return metronome;
}

function hand(due: number): void {
  const send = idle.shift();
  if (send === undefined) overdue.push(due);
  else send(due);
}

const decoder = new TextDecoder("latin1");

/** Reads one whole answer; throws unless it is a 200. */
async function readAnswer(connection: Deno.TcpConn, buffer: Uint8Array): Promise<void> {
  let held = 0;
  for (;;) {
    const count = await connection.read(buffer.subarray(held));
    if (count === null) throw new Error("the server closed the connection");
    held += count;
    const text = decoder.decode(buffer.subarray(0, held));
    const end = text.indexOf("\r\n\r\n");
    if (end < 0) continue;
    if (!text.startsWith("HTTP/1.1 200 ")) throw new Error(`answered ${text}`);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0);
    for (let left = end + 4 + length - held; left > 0;) {
      const more = await connection.read(buffer.subarray(0, Math.min(left, buffer.length)));
      if (more === null) throw new Error("the server closed the connection");
      left -= more;
    }
    return;
  }
}

const metronome = periodMs > 0 ? startBeating() : undefined;
await Promise.all(Array.from({ length: Number(connections) }, (_, lane) => drive(lane)));
metronome?.terminate();
const report: LoadReport = {
  requests: tookMs.length,
  answered: answers,
  rows: tookMs.length * Number(records),
  seconds: Number(seconds),
  bytes,
  p50Ms: percentile(tookMs, 0.5),
  p99Ms: percentile(tookMs, 0.99),
  ...(periodMs > 0 ? { lateP99Ms: percentile(lateMs, 0.99), tookMs } : {}),
};
Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(report)}\n`));
