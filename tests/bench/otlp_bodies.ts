/**
 * Prebuilt OTLP protobuf bodies for load: log records of some 320 bytes with six attributes. A
 * plain protobuf writer makes them, so that nothing under test makes its own input. Deterministic.
 */

import protobuf from "protobufjs";

const SERVICES = ["checkout", "cart", "payment", "search", "frontend"];
const PATHS = ["/api/cart", "/api/checkout", "/api/search?q=shoes", "/healthz", "/api/items/8731"];

export interface BodyOptions {
  readonly records: number;
  /** Unix nanoseconds of the first record; the others follow, a microsecond apart. */
  readonly startNs: bigint;
  /** Number of the first record; also its attribute `seq`. */
  readonly first?: number;
  /** Bytes in each log record that do not compress, as those of ids; default 0. */
  readonly noiseBytes?: number;
  /** Bytes of each log record's attribute `request.key`, which do not compress; default: none. */
  readonly keyBytes?: number;
}

/** One `ExportLogsServiceRequest` of one resource and one scope. */
export function otlpLogsBody(options: BodyOptions): Uint8Array<ArrayBuffer> {
  const { noiseBytes = 0, keyBytes = 0 } = options;
  return requestBody(
    options,
    (writer, seq, timeNs) => record(writer, { seq, timeNs, noiseBytes, keyBytes }),
  );
}

/** One `ExportTraceServiceRequest` of one resource and one scope. */
export function otlpTracesBody(options: BodyOptions): Uint8Array<ArrayBuffer> {
  return requestBody(options, span);
}

/** Logs and traces nest alike, under the same field numbers. */
function requestBody(
  { records, startNs, first = 0 }: BodyOptions,
  write: (writer: protobuf.Writer, seq: number, timeNs: bigint) => void,
): Uint8Array<ArrayBuffer> {
  const writer = new protobuf.Writer();
  writer.uint32(0x0a).fork(); // resource_logs, resource_spans
  writer.uint32(0x0a).fork(); // resource
  attribute(writer, 0x0a, "service.name", SERVICES[first % SERVICES.length] ?? "");
  attribute(writer, 0x0a, "host.name", `node-${first % 17}.example.internal`);
  writer.ldelim();
  writer.uint32(0x12).fork(); // scope_logs, scope_spans
  writer.uint32(0x0a).fork().uint32(0x0a).string("bench.logger").ldelim(); // scope.name
  for (let i = 0; i < records; i++) {
    writer.uint32(0x12).fork(); // log_records, spans
    write(writer, first + i, startNs + BigInt(i) * 1_000n);
    writer.ldelim();
  }
  writer.ldelim();
  writer.ldelim();
  return new Uint8Array(writer.finish());
}

interface LogRecord {
  readonly seq: number;
  readonly timeNs: bigint;
  readonly noiseBytes: number;
  readonly keyBytes: number;
}

function record(
  writer: protobuf.Writer,
  { seq, timeNs, noiseBytes, keyBytes }: LogRecord,
): void {
  fixed64(writer, 0x09, timeNs);
  writer.uint32(0x10).int32(9); // severity_number INFO
  writer.uint32(0x1a).string("INFO");
  const path = PATHS[seq % PATHS.length] ?? "";
  writer.uint32(0x2a).fork().uint32(0x0a).string(
    `request ${seq} served: GET ${path} from 10.1.${seq % 251}.${seq % 13} in ${
      seq % 977
    } ms, 200 OK, ` +
      `upstream cart-${seq % 7}.internal:8443 answered after ${
        seq % 613
      } ms, agent Mozilla/5.0 (X11)${noise(seq, noiseBytes)}`,
  ).ldelim();
  attribute(writer, 0x32, "http.method", "GET");
  attribute(writer, 0x32, "http.target", path);
  attribute(writer, 0x32, "http.status_code", seq % 19 === 0 ? 500 : 200);
  attribute(writer, 0x32, "user.id", `u-${seq % 10_007}`);
  attribute(writer, 0x32, "region.zone", `eu-central-1${"abc"[seq % 3]}`);
  attribute(writer, 0x32, "seq", seq);
  if (keyBytes > 0) attribute(writer, 0x32, "request.key", noise(~seq, keyBytes));
}

/** `bytes` bytes as hexadecimal text, as good as random and the same for the same `seq`. */
function noise(seq: number, bytes: number): string {
  let text = "";
  for (let at = 0; at < bytes; at += 4) {
    let mixed = Math.imul(seq ^ (at << 24), 0x9e3779b1);
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    text += ((mixed ^ (mixed >>> 16)) >>> 0).toString(16).padStart(8, "0");
  }
  return text;
}

function span(writer: protobuf.Writer, seq: number, startNs: bigint): void {
  writer.uint32(0x0a).bytes(id(16, seq >> 2)); // trace_id, four spans a trace
  writer.uint32(0x12).bytes(id(8, seq));
  if (seq % 4 !== 0) writer.uint32(0x22).bytes(id(8, seq - seq % 4)); // parent_span_id
  const path = PATHS[seq % PATHS.length] ?? "";
  writer.uint32(0x2a).string(`GET ${path}`);
  writer.uint32(0x30).int32(seq % 4 === 0 ? 2 : 3); // kind
  fixed64(writer, 0x39, startNs);
  fixed64(writer, 0x41, startNs + BigInt(seq % 977) * 1_000_000n);
  attribute(writer, 0x4a, "http.request.method", "GET");
  attribute(writer, 0x4a, "url.path", path);
  attribute(writer, 0x4a, "http.response.status_code", seq % 10 === 0 ? 500 : 200);
  attribute(writer, 0x4a, "user.id", `u-${seq % 10_007}`);
  attribute(writer, 0x4a, "server.address", `cart-${seq % 7}.internal`);
  attribute(writer, 0x4a, "network.peer.address", `10.1.${seq % 251}.${seq % 13}`);
  if (seq % 10 === 0) {
    writer.uint32(0x5a).fork(); // events
    fixed64(writer, 0x09, startNs);
    writer.uint32(0x12).string("exception");
    attribute(writer, 0x1a, "exception.type", "TimeoutError");
    attribute(writer, 0x1a, "exception.message", `cart-${seq % 7} did not answer in 500 ms`);
    writer.ldelim();
    writer.uint32(0x7a).fork().uint32(0x18).int32(2).ldelim(); // status.code ERROR
  }
  writer.uint32(0x85).fixed32(0x101); // flags
}

/** Bytes that differ from number to number and are not all zero. */
function id(length: number, seq: number): Uint8Array {
  const bytes = new Uint8Array(length).fill(0x5a);
  new DataView(bytes.buffer).setUint32(length - 4, Math.imul(seq + 1, 0x9e3779b1));
  return bytes;
}

function fixed64(writer: protobuf.Writer, tag: number, value: bigint): void {
  const long = { low: Number(value & 0xffffffffn), high: Number(value >> 32n), unsigned: true };
  writer.uint32(tag).fixed64(long as unknown as number);
}

function attribute(
  writer: protobuf.Writer,
  tag: number,
  key: string,
  value: string | number,
): void {
  writer.uint32(tag).fork().uint32(0x0a).string(key).uint32(0x12).fork();
  if (typeof value === "string") writer.uint32(0x0a).string(value);
  else writer.uint32(0x18).int64(value);
  writer.ldelim().ldelim();
}
