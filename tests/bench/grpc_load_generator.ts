/**
 * Drives OTLP/gRPC as `load_generator.ts` drives HTTP: prebuilt bodies, one call at a time on each
 * connection. Frames are written raw, because an HTTP/2 client costs more per call than the server
 * under load. Keeps to the server's windows.
 *
 * Usage: `grpc_load_generator.ts <port> <path> <seconds> <records per request> <connections>`; one
 * JSON line on stdout as there. Any end of a call but OK ends the run with an error.
 */

import { concatBytes } from "../../shared/base/bytes.ts";
import {
  Flag,
  frame,
  FrameType,
  HEAD_BYTES,
  PAYLOAD_BYTES_MAX,
  PREFACE,
  readHead,
  readUint31,
  settingsFrame,
  WINDOW_BYTES_DEFAULT,
} from "../../shared/http2/frames.ts";
import { encodeFields, HpackDecoder } from "../../shared/http2/hpack.ts";
import { framed } from "../clients/grpc_call.ts";
import { otlpLogsBody } from "./otlp_bodies.ts";

const BODIES = 8;
const WARM_UP_SECS = 0.5;

const [port = "", path = "", seconds = "", records = "", connections = ""] = Deno.args;
const startNs = BigInt(Date.now()) * 1_000_000n;
const messages = Array.from({ length: BODIES }, (_, i) =>
  framed(otlpLogsBody({
    records: Number(records),
    startNs: startNs + BigInt(i) * 1_000_000_000n,
    first: i * Number(records),
  })));
const fields = encodeFields([
  [":method", "POST"],
  [":scheme", "http"],
  [":path", path],
  [":authority", "127.0.0.1"],
  ["content-type", "application/grpc"],
  ["te", "trailers"],
]);

const begun = performance.now();
const from = begun + WARM_UP_SECS * 1_000;
const until = from + Number(seconds) * 1_000;
const tookMs: number[] = [];
let bytes = 0;

/** A whole request on stream `id`. */
function requestOf(message: Uint8Array, id: number): Uint8Array {
  const frames = [frame(FrameType.HEADERS, fields, { flags: Flag.END_HEADERS, stream: id })];
  for (let at = 0; at < message.byteLength; at += PAYLOAD_BYTES_MAX) {
    const end = at + PAYLOAD_BYTES_MAX;
    const flags = end >= message.byteLength ? Flag.END_STREAM : 0;
    frames.push(frame(FrameType.DATA, message.subarray(at, end), { flags, stream: id }));
  }
  return concatBytes(frames);
}

class Connection {
  readonly #conn: Deno.TcpConn;
  readonly #decoder = new HpackDecoder(32 * 1024);
  #window = WINDOW_BYTES_DEFAULT;
  #buffer = new Uint8Array(64 * 1024);
  #held = 0;
  #id = -1;

  constructor(conn: Deno.TcpConn) {
    this.#conn = conn;
    conn.setNoDelay(true);
  }

  async greet(): Promise<void> {
    await this.#write(concatBytes([PREFACE, settingsFrame([])]));
  }

  async call(message: Uint8Array): Promise<void> {
    this.#id += 2;
    const request = requestOf(message, this.#id);
    while (this.#window < message.byteLength) await this.#read();
    this.#window -= message.byteLength;
    await this.#write(request);
    while (!await this.#read());
  }

  async #write(data: Uint8Array): Promise<void> {
    for (let at = 0; at < data.byteLength;) at += await this.#conn.write(data.subarray(at));
  }

  /** Takes what has come; whether the call's end was in it. */
  async #read(): Promise<boolean> {
    const count = await this.#conn.read(this.#buffer.subarray(this.#held));
    if (count === null) throw new Error("the server closed the connection");
    this.#held += count;
    let at = 0;
    let ended = false;
    while (this.#held - at >= HEAD_BYTES) {
      const head = readHead(this.#buffer, at);
      const end = at + HEAD_BYTES + head.payloadBytes;
      if (end > this.#held) break;
      const payload = this.#buffer.subarray(at + HEAD_BYTES, end);
      at = end;
      if (head.type === FrameType.WINDOW_UPDATE && head.stream === 0) {
        this.#window += readUint31(payload, 0);
      } else if (head.type === FrameType.HEADERS) {
        const answer = new Map(this.#decoder.decode(payload));
        if ((head.flags & Flag.END_STREAM) === 0) continue;
        if (answer.get("grpc-status") !== "0") throw new Error(`ended ${[...answer].join(" ")}`);
        ended = true;
      } else if (head.type === FrameType.GOAWAY || head.type === FrameType.RST_STREAM) {
        throw new Error(`the server sent a frame of type ${head.type}`);
      }
    }
    this.#buffer.copyWithin(0, at, this.#held);
    this.#held -= at;
    return ended;
  }
}

/** One connection: a call, its end, the next. */
async function drive(lane: number): Promise<void> {
  using conn = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
  const connection = new Connection(conn);
  await connection.greet();
  for (let turn = lane;; turn++) {
    const message = messages[turn % BODIES] ?? new Uint8Array(0);
    const sent = performance.now();
    if (sent >= until) return;
    await connection.call(message);
    const answered = performance.now();
    if (sent >= from && answered <= until) {
      tookMs.push(answered - sent);
      bytes += message.byteLength;
    }
  }
}

await Promise.all(Array.from({ length: Number(connections) }, (_, lane) => drive(lane)));
tookMs.sort((a, b) => a - b);
const at = (share: number) => tookMs[Math.floor(tookMs.length * share)] ?? NaN;
const report = JSON.stringify({
  requests: tookMs.length,
  rows: tookMs.length * Number(records),
  seconds: Number(seconds),
  bytes,
  p50Ms: at(0.5),
  p99Ms: at(0.99),
});
Deno.stdout.writeSync(new TextEncoder().encode(`${report}\n`));
