/**
 * The OTLP/gRPC listener: `LogsService/Export` and `TraceService/Export`, whose messages the columnar
 * decoders read as they are.
 */

import type { ListenAddress } from "../../shared/http/listen_address.ts";
import type { TlsIdentity } from "../../shared/http/serve.ts";
import { type Http2Server, serveHttp2 } from "../../shared/http2/serve_http2.ts";
import type { Http2Answer, Http2Call } from "../../shared/http2/stream.ts";
import { LOGS } from "../otlp_logs.ts";
import type { OtlpDeps, OtlpSignal } from "../otlp_route.ts";
import { TRACES } from "../otlp_traces.ts";
import { failedCall } from "./call_status.ts";
import { answerExport, unknownMethod } from "./export_call.ts";

export interface ServeOtlpOptions {
  readonly listen: ListenAddress;
  /** Plaintext without. */
  readonly tls: TlsIdentity | undefined;
  /** How long a stop waits for calls in flight before it cuts them. */
  readonly stopMsMax: number;
  readonly deps: OtlpDeps;
}

const METHODS: ReadonlyMap<string, OtlpSignal> = new Map([
  ["/opentelemetry.proto.collector.logs.v1.LogsService/Export", LOGS],
  ["/opentelemetry.proto.collector.trace.v1.TraceService/Export", TRACES],
]);

/** Starts to listen. Errors: `unavailable` or `invalid_argument` naming address and remedy. */
export function serveOtlp(options: ServeOtlpOptions): Http2Server {
  const { listen, tls, stopMsMax, deps } = options;
  return serveHttp2({
    ...listen,
    ...(tls === undefined ? {} : { tls }),
    option: "--otlp-grpc-listen, or set --disable-otlp-grpc",
    stopMsMax,
    handler: (call) => answer(call, deps),
  });
}

function answer(call: Http2Call, deps: OtlpDeps): Promise<Http2Answer> {
  const contentType = call.headers.get("content-type") ?? "";
  if (call.headers.get(":method") !== "POST" || !/^application\/grpc($|[+;])/.test(contentType)) {
    return Promise.resolve(NOT_GRPC);
  }
  const path = call.headers.get(":path") ?? "";
  const signal = METHODS.get(path);
  if (signal === undefined) return Promise.resolve(failedCall(unknownMethod(path)));
  return answerExport(call, signal, deps);
}

/** What a sender of anything else can read. */
const NOT_GRPC: Http2Answer = { fields: [[":status", "415"]] };
