/**
 * The OTLP/gRPC listener: `LogsService/Export` and `TraceService/Export`, whose messages the
 * columnar decoders read as they are.
 */

import { type BrowserRules, judgeSource } from "../../shared/http/browser_rules.ts";
import type { ListenerMeter } from "../../shared/http/connection_metrics.ts";
import type { ListenAddress } from "../../shared/http/listen_address.ts";
import type { ConnectionBounds } from "../../shared/http/connection_counts.ts";
import type { TlsIdentity } from "../../shared/http/listener.ts";
import { tellRefused } from "../../shared/http/origin_guard.ts";
import { type Http2Server, serveHttp2 } from "../../shared/http2/serve_http2.ts";
import type { Http2Answer, Http2Call } from "../../shared/http2/stream.ts";
import { LOGS } from "../otlp/otlp_logs.ts";
import type { OtlpDeps, OtlpSignal } from "../otlp/otlp_route.ts";
import { TRACES } from "../otlp/otlp_traces.ts";
import { failedCall } from "./call_status.ts";
import { answerExport, unknownMethod } from "./export_call.ts";

export interface ServeOtlpOptions {
  readonly listen: ListenAddress;
  readonly bounds: ConnectionBounds;
  readonly meter: ListenerMeter;
  /** Plaintext without. */
  readonly tls: TlsIdentity | undefined;
  /** How long a stop waits for calls in flight before it cuts them. */
  readonly stopMsMax: number;
  readonly deps: OtlpDeps;
  /** A browser can reach it where it has TLS. */
  readonly browsers: BrowserRules;
}

const METHODS: ReadonlyMap<string, OtlpSignal> = new Map([
  ["/opentelemetry.proto.collector.logs.v1.LogsService/Export", LOGS],
  ["/opentelemetry.proto.collector.trace.v1.TraceService/Export", TRACES],
]);

/** Starts to listen. Errors: `unavailable` or `invalid_argument` naming address and remedy. */
export function serveOtlp(options: ServeOtlpOptions): Http2Server {
  const { listen, tls, stopMsMax, bounds, meter } = options;
  return serveHttp2({
    ...{ ...listen, bounds, meter },
    ...(tls === undefined ? {} : { tls }),
    option: "--otlp-grpc-listen, or set --disable-otlp-grpc",
    stopMsMax,
    handler: (call) => answer(call, options),
  });
}

function answer(
  call: Http2Call,
  { deps, browsers, tls }: ServeOtlpOptions,
): Promise<Http2Answer> {
  const { headers } = call;
  const verdict = judgeSource({
    origin: headers.get("origin") ?? null,
    site: headers.get("sec-fetch-site") ?? null,
    host: () => headers.get(":authority") ?? headers.get("host") ?? "",
    isSecure: () => tls !== undefined,
  }, browsers);
  if (verdict.kind === "refused") {
    tellRefused(verdict.error);
    return Promise.resolve(failedCall(verdict.error));
  }
  const contentType = headers.get("content-type") ?? "";
  if (headers.get(":method") !== "POST" || !/^application\/grpc($|[+;])/.test(contentType)) {
    return Promise.resolve(NOT_GRPC);
  }
  const path = headers.get(":path") ?? "";
  const signal = METHODS.get(path);
  if (signal === undefined) return Promise.resolve(failedCall(unknownMethod(path)));
  return answerExport(call, signal, deps);
}

/** What a sender of anything else can read. */
const NOT_GRPC: Http2Answer = { fields: [[":status", "415"]] };
