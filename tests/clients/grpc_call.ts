/**
 * gRPC calls over plain `node:http2`, framed and read by hand: for tests that look at every byte of
 * an answer, and for requests that no gRPC library would send. For tests only.
 */

import { Buffer } from "node:buffer";
import http2 from "node:http2";
import protobuf from "protobufjs";

export const LOGS_EXPORT = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
export const TRACES_EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/** google/rpc/status.proto and error_details.proto, apart from the code under test. */
const messages = protobuf.parse(`
  syntax = "proto3";
  message Any { string type_url = 1; bytes value = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message Duration { int64 seconds = 1; int32 nanos = 2; }
  message RetryInfo { Duration retry_delay = 1; }
  message ErrorInfo { string reason = 1; string domain = 2; }
  message Violation { string field = 1; string description = 2; string reason = 3; }
  message BadRequest { repeated Violation field_violations = 1; }
`).root;

export interface CallOptions {
  readonly path?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** What goes over the wire, framed already; the stream ends behind it. */
  readonly wire: Uint8Array;
  /** Leaves the sender's half of the stream open. */
  readonly halfSent?: boolean;
}

export interface Answer {
  readonly code: number;
  readonly message: string;
  /** Bytes of the response message; undefined without one. */
  readonly response: Uint8Array | undefined;
  /** `RetryInfo` in seconds; undefined without one. */
  readonly retryAfterSecs: number | undefined;
  /** `ErrorInfo`, as `domain/REASON`; undefined without one. */
  readonly errorInfo: string | undefined;
  /** `grpc-accept-encoding`, which refusals have. */
  readonly acceptEncoding: string | undefined;
  /** Fields of `BadRequest`. */
  readonly violations: readonly string[];
}

/** One message with gRPC's prefix of five bytes. */
export function framed(message: Uint8Array, compressed = false): Uint8Array {
  const frame = new Uint8Array(5 + message.byteLength);
  frame[0] = compressed ? 1 : 0;
  new DataView(frame.buffer).setUint32(1, message.byteLength);
  frame.set(message, 5);
  return frame;
}

/** One connection. */
export class GrpcConnection implements AsyncDisposable {
  readonly session: http2.ClientHttp2Session;

  constructor(target: string) {
    this.session = http2.connect(`http://${target}`);
    this.session.on("error", () => {});
  }

  /** Rejects when the stream ends without a status. */
  call(options: CallOptions): Promise<Answer> {
    const { path = LOGS_EXPORT, metadata = {}, wire, halfSent = false } = options;
    const stream = this.session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...metadata,
    });
    const parts: Buffer[] = [];
    let status: http2.IncomingHttpHeaders = {};
    stream.on("response", (headers) => status = headers);
    stream.on("trailers", (headers) => status = headers);
    stream.on("data", (part: Buffer) => parts.push(part));
    if (halfSent) stream.write(wire);
    else stream.end(wire);
    return new Promise((resolve, reject) => {
      let failure: unknown;
      const settle = () => {
        stream.close();
        if (status["grpc-status"] === undefined) {
          reject(failure ?? new Error(`no status: ${JSON.stringify(status)}`));
        } else resolve(answerOf(status, Buffer.concat(parts)));
      };
      stream.on("error", (error) => failure = error);
      stream.on("end", settle);
      stream.on("close", settle);
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return new Promise((resolve) => {
      if (this.session.destroyed) return resolve();
      this.session.once("close", resolve);
      this.session.destroy();
    });
  }
}

/** One call on a connection of its own. */
export async function grpcCall(target: string, options: CallOptions): Promise<Answer> {
  await using connection = new GrpcConnection(target);
  return await connection.call(options);
}

function answerOf(status: http2.IncomingHttpHeaders, body: Uint8Array): Answer {
  const code = Number(status["grpc-status"]);
  const binary = String(status["grpc-status-details-bin"] ?? "");
  const details = detailsOf(Uint8Array.from(Buffer.from(binary, "base64")), code);
  return {
    code,
    acceptEncoding: status["grpc-accept-encoding"]?.toString(),
    message: decodeURIComponent(String(status["grpc-message"] ?? "")),
    response: body.byteLength < 5 ? undefined : body.subarray(5),
    ...details,
  };
}

function detailsOf(bytes: Uint8Array, code: number) {
  const status = fieldsOf("Status", bytes);
  if (bytes.byteLength > 0 && status.code !== code) {
    throw new Error(`grpc-status ${code} with details of ${status.code}`);
  }
  const value = (name: string): Uint8Array | undefined =>
    status.details?.find((any: { typeUrl: string }) =>
      any.typeUrl === `type.googleapis.com/google.rpc.${name}`
    )?.value;
  const retry = value("RetryInfo");
  const bad = value("BadRequest");
  const info = value("ErrorInfo");
  const { domain, reason } = info === undefined ? {} : fieldsOf("ErrorInfo", info);
  return {
    retryAfterSecs: retry && Number(fieldsOf("RetryInfo", retry).retryDelay.seconds),
    errorInfo: info === undefined ? undefined : `${domain}/${reason}`,
    violations: bad === undefined
      ? []
      : fieldsOf("BadRequest", bad).fieldViolations.map((one: { reason: string }) => one.reason),
  };
}

// deno-lint-ignore no-explicit-any
function fieldsOf(type: string, bytes: Uint8Array): any {
  const message = messages.lookupType(type);
  return message.toObject(message.decode(bytes), { longs: String });
}
