/**
 * Bytes that no HTTP library sends, to the listeners of a whole server: framing that lies, heads
 * that inject, HTTP/2 frames out of order. The server must end each connection soon after the
 * sender's end, with an answer in form where there is one. It stores nothing without a 200, and
 * serves others afterwards.
 */

import assert from "node:assert/strict";
import { encodeLogsRequest } from "../../proto/otlp_logs.ts";
import { concatBytes, utf8 } from "../../shared/base/bytes.ts";
import { HTTP2_LIMITS } from "../../shared/http2/limits.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { metricReaches } from "../clients/metric_wait.ts";
import { RunningIngest } from "../clients/running_ingest.ts";
import { mutateBytes, pick } from "./mutate_bytes.ts";
import { mutateProtobuf } from "./mutate_protobuf.ts";

/**
 * From the end of what is sent to the end of the connection. A connection over HTTP/2 whose peer
 * broke the rules ends with the next sweep; the rest is for a busy machine.
 */
const END_MS_MAX = HTTP2_LIMITS.sweepMs + 10_000;

/** Connections that wait for their ends, fewer than one address may have. */
const GRPC_AT_ONCE = 100;

/**
 * Statuses of the routes, and those that the runtime answers by itself for a head it cannot read.
 */
const STATUSES = [200, 400, 403, 404, 405, 408, 413, 415, 417, 431, 501, 503, 505];

const BODY = JSON.stringify({
  resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "raw" } }] }] }],
});

function post(head: string, body = BODY, line = "POST /v1/logs HTTP/1.1"): string {
  return `${line}\r\nHost: localhost\r\nContent-Type: application/json\r\n${head}\r\n\r\n${body}`;
}

const LENGTH = `Content-Length: ${BODY.length}`;
const CHUNK = `${BODY.length.toString(16)}\r\n${BODY}\r\n`;
const CHUNKED = "Transfer-Encoding: chunked";

interface RawCase {
  readonly what: string;
  readonly text: string;
  /** Rows that it may store. */
  readonly rows: 0 | 1;
}

/** By hand; `rows` is what HTTP/1.1 (RFC 9112) says of each. */
export const RAW_CASES: readonly RawCase[] = [
  { what: "a valid request", text: post(LENGTH), rows: 1 },
  { what: "a valid chunked request", text: post(CHUNKED, `${CHUNK}0\r\n\r\n`), rows: 1 },
  // RFC 9110 section 8.6 lets a server take one of them or refuse: two readers could differ.
  { what: "the length twice", text: post(`${LENGTH}\r\n${LENGTH}`), rows: 0 },
  { what: "two lengths", text: post(`${LENGTH}\r\nContent-Length: 2`), rows: 0 },
  { what: "a length beyond the body", text: post("Content-Length: 5000"), rows: 0 },
  { what: "a negative length", text: post("Content-Length: -1"), rows: 0 },
  { what: "a length with a sign", text: post(`Content-Length: +${BODY.length}`), rows: 0 },
  { what: "a length past 64 bits", text: post("Content-Length: 99999999999999999999"), rows: 0 },
  { what: "a huge length", text: post("Content-Length: 9007199254740993"), rows: 0 },
  { what: "chunks without an end", text: post(CHUNKED, CHUNK), rows: 0 },
  { what: "a chunk cut short", text: post(CHUNKED, `ff\r\n${BODY}`), rows: 0 },
  { what: "a chunk size that is none", text: post(CHUNKED, `zz\r\n${BODY}\r\n0\r\n\r\n`), rows: 0 },
  {
    what: "a chunk size past 64 bits",
    text: post(CHUNKED, `${"f".repeat(17)}\r\n${BODY}`),
    rows: 0,
  },
  {
    what: "a chunk extension without end",
    text: post(CHUNKED, `5;${"a".repeat(100_000)}`),
    rows: 0,
  },
  {
    what: "trailers by the thousand",
    text: post(CHUNKED, `0\r\n${"x: y\r\n".repeat(5_000)}\r\n`),
    rows: 0,
  },
  { what: "an unknown transfer encoding", text: post("Transfer-Encoding: pigeon"), rows: 0 },
  { what: "chunked, but not last", text: post("Transfer-Encoding: chunked, gzip"), rows: 0 },
  { what: "a space before a header's colon", text: post(`X-A : b\r\n${LENGTH}`), rows: 0 },
  { what: "a NUL in a header", text: post(`X-A: a\0b\r\n${LENGTH}`), rows: 0 },
  { what: "a bare carriage return in a header", text: post(`X-A: a\rb\r\n${LENGTH}`), rows: 0 },
  { what: "a header without a name", text: post(`: b\r\n${LENGTH}`), rows: 0 },
  { what: "five thousand headers", text: post("X-A: b\r\n".repeat(5_000) + LENGTH), rows: 0 },
  {
    what: "a header of a megabyte",
    text: post(`X-A: ${"b".repeat(1 << 20)}\r\n${LENGTH}`),
    rows: 0,
  },
  { what: "a path of a megabyte", text: `GET /${"a".repeat(1 << 20)} HTTP/1.1\r\n\r\n`, rows: 0 },
  { what: "no path", text: post(LENGTH, BODY, "POST HTTP/1.1"), rows: 0 },
  { what: "a version of the future", text: post(LENGTH, BODY, "POST /v1/logs HTTP/7.3"), rows: 0 },
  { what: "a method that is none", text: post(LENGTH, BODY, "P(ST /v1/logs HTTP/1.1"), rows: 0 },
  { what: "a response", text: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", rows: 0 },
  { what: "a head without an end", text: "POST /v1/logs HTTP/1.1\r\nHost: localhost\r\n", rows: 0 },
  { what: "nothing", text: "", rows: 0 },
  { what: "a TLS greeting", text: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", rows: 0 },
  { what: "an injected second request", text: post("Content-Length: 2", `{}${BODY}`), rows: 0 },
];

export async function runRawCases(): Promise<void> {
  await using ingest = await RunningIngest.start();
  for (const { what, text, rows } of RAW_CASES) {
    const before = await rowsStored(ingest);
    try {
      const patienceMs = rows === 0 ? 100 : 3_000;
      const answer = await exchange(ingest.server.address.port, latin1(text), patienceMs);
      requireHttpAnswer(answer);
      assert.equal(await rowsStored(ingest) - before, rows, `${what}: ${answer.slice(0, 100)}`);
      await requireService(ingest);
    } catch (cause) {
      throw new Error(`raw connection: ${what}`, { cause });
    }
  }
}

export interface RawFuzzOptions {
  readonly seed: number;
  readonly connections: number;
}

/**
 * Damaged requests to the HTTP and the gRPC listener. Those over HTTP follow one another, because
 * the rows that each stores are counted; those over gRPC wait for their ends beside them.
 */
export async function runRawFuzz({ seed, connections }: RawFuzzOptions): Promise<void> {
  await using ingest = await RunningIngest.start();
  const grpcPort = ingest.server.otlpGrpcAddress?.port ?? 0;
  await exchange(grpcPort, VALID_CALL);
  const calls = 'svc_ingest_grpc_calls_total{endpoint="grpc_logs",code="OK"}';
  await metricReaches(ingest, calls, 1); // What is damaged below is valid.
  const overGrpc: Promise<Error | undefined>[] = [];
  for (let number = 0; number < connections; number += 1) {
    const random = new SeededRandom(seed * 2 ** 24 + number);
    const isGrpc = random.chance(0.5);
    const source = isGrpc ? VALID_CALL : latin1(pick(random, RAW_CASES).text.slice(0, 4_000));
    const bytes = isGrpc && random.chance(0.6) ? damagedCall(random) : mutateBytes(source, random);
    const protocol = isGrpc ? "gRPC" : "HTTP";
    const ends = isGrpc ? exchange(grpcPort, bytes) : exchangeHttp(ingest, bytes);
    const ended = ends.then(() => undefined, (cause: unknown) => {
      const start = bytes.subarray(0, 200).toBase64();
      return new Error(`raw fuzz: seed ${seed}, connection ${number}, ${protocol}: ${start}`, {
        cause,
      });
    });
    if (isGrpc) overGrpc.push(ended);
    else throwIfAny(await ended);
    if (number % 25 === 24) await requireService(ingest);
    if (overGrpc.length === GRPC_AT_ONCE) throwIfAny(...await Promise.all(overGrpc.splice(0)));
  }
  throwIfAny(...await Promise.all(overGrpc));
  await requireService(ingest);
  assert.equal(await ingest.metric("svc_ingest_bodies_in_flight_bytes"), 0);
}

/** One damaged request, its answer in form, and no row stored without a 200. */
async function exchangeHttp(ingest: RunningIngest, bytes: Uint8Array): Promise<void> {
  const before = await rowsStored(ingest);
  const answer = await exchange(ingest.server.address.port, bytes);
  requireHttpAnswer(answer);
  const accepted = answer.split("HTTP/1.1 200 ").length - 1;
  const stored = await rowsStored(ingest) - before;
  // The runtime drops a request whose sender hangs up at once, but its rows may be on their way.
  assert.ok(accepted > 0 || answer === "" || stored === 0, `${stored} rows of ${answer}`);
}

function throwIfAny(...errors: readonly (Error | undefined)[]): void {
  for (const error of errors) if (error !== undefined) throw error;
}

/**
 * What comes back, as Latin-1, until the server closes. It does not close before the sender has
 * hung up: `patienceMs` after the last byte, or when something has come back. Fails when it does
 * not close in time.
 */
async function exchange(port: number, bytes: Uint8Array, patienceMs = 0): Promise<string> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const timers: ReturnType<typeof setTimeout>[] = [];
  const passed = (ms: number) =>
    new Promise<void>((done) => void timers.push(setTimeout(done, ms)));
  const answered = Promise.withResolvers<void>();
  try {
    const read = readAll(connection, answered.resolve);
    const write = (async () => {
      await writeAll(connection, bytes);
      if (patienceMs > 0) await Promise.race([passed(patienceMs), answered.promise]);
      await connection.closeWrite();
    })().catch(() => {}); // The server has had enough and closed.
    const late = passed(END_MS_MAX).then(() => Promise.reject(new Error("it stays open")));
    const [text] = await Promise.race([Promise.all([read, write]), late]);
    return text;
  } finally {
    timers.forEach(clearTimeout);
    connection.close();
  }
}

async function writeAll(connection: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

async function readAll(connection: Deno.TcpConn, onPart: () => void): Promise<string> {
  const parts: Uint8Array[] = [];
  const buffer = new Uint8Array(16 * 1024);
  try {
    for (;;) {
      const count = await connection.read(buffer);
      if (count === null) break;
      parts.push(buffer.slice(0, count));
      onPart();
    }
  } catch {
    // A reset ends a connection, too.
  }
  onPart();
  return new TextDecoder("latin1").decode(concatBytes(parts));
}

function requireHttpAnswer(answer: string): void {
  if (answer === "") return;
  const status = Number(/^HTTP\/1\.[01] (\d{3}) /.exec(answer)?.[1]);
  assert.ok(STATUSES.includes(status), `answer ${JSON.stringify(answer.slice(0, 200))}`);
}

/** By HTTP: a call over gRPC may go on when its connection has ended. */
function rowsStored(ingest: RunningIngest): Promise<number> {
  return ingest.metric('svc_ingest_events_total{endpoint="logs"}');
}

async function requireService(ingest: RunningIngest): Promise<void> {
  const before = await rowsStored(ingest);
  const response = await ingest.post(BODY, { headers: { "content-type": "application/json" } });
  assert.deepEqual([response.status, await response.text()], [200, "{}"], "a valid request");
  assert.equal(await rowsStored(ingest), before + 1);
}

function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

const SETTINGS = 4;
const HEADERS = 1;
const DATA = 0;

/** The largest payload that a frame has unless both sides agree on more. */
const PAYLOAD_BYTES_MAX = 16_384;

/** Header fields of a call, without indexing or Huffman codes. */
const CALL_FIELDS = concatBytes(
  [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", "/opentelemetry.proto.collector.logs.v1.LogsService/Export"],
    [":authority", "localhost"],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
  ].flatMap(([name = "", value = ""]) => [Uint8Array.of(0), sized(name), sized(value)]),
);
const CALL_MESSAGE = encodeLogsRequest({
  resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "raw" } }] }] }],
});
const VALID_CALL = exportCall(CALL_FIELDS, prefixed(CALL_MESSAGE));

/** A call whose frames are whole, but not what is in them. */
function damagedCall(random: SeededRandom): Uint8Array {
  return pick(random, [
    () => exportCall(mutateBytes(CALL_FIELDS, random), prefixed(CALL_MESSAGE)),
    () => exportCall(CALL_FIELDS, prefixed(mutateProtobuf(CALL_MESSAGE, random))),
    () => exportCall(CALL_FIELDS, mutateBytes(prefixed(CALL_MESSAGE), random)),
    () => exportCall(CALL_FIELDS, prefixed(CALL_MESSAGE), mutateBytes(VALID_CALL, random)),
  ])();
}

/** One call of `Export` as HTTP/2 frames, `more` bytes behind it. */
function exportCall(fields: Uint8Array, message: Uint8Array, more?: Uint8Array): Uint8Array {
  return concatBytes([
    utf8("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    frame(SETTINGS, { flags: 0, stream: 0, payload: new Uint8Array(0) }),
    frame(HEADERS, { flags: 4, stream: 1, payload: fields.subarray(0, PAYLOAD_BYTES_MAX) }),
    frame(DATA, { flags: 1, stream: 1, payload: message.subarray(0, PAYLOAD_BYTES_MAX) }),
    ...(more === undefined ? [] : [more]),
  ]);
}

function prefixed(message: Uint8Array): Uint8Array {
  const prefix = new Uint8Array(5);
  new DataView(prefix.buffer).setUint32(1, message.length);
  return concatBytes([prefix, message]);
}

function sized(text: string): Uint8Array {
  return concatBytes([Uint8Array.of(text.length), utf8(text)]);
}

function frame(
  type: number,
  { flags, stream, payload }: { flags: number; stream: number; payload: Uint8Array },
): Uint8Array {
  const { length } = payload;
  return concatBytes([
    Uint8Array.of(length >> 16, length >> 8, length, type, flags, 0, 0, 0, stream),
    payload,
  ]);
}
