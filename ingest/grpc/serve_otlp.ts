/**
 * The OTLP/gRPC listener: `LogsService/Export` and `TraceService/Export` with messages passed as the
 * bytes they are, so that the columnar decoders read them.
 *
 * The gRPC library answers by itself what never becomes a call of ours: an unknown method
 * (UNIMPLEMENTED), a message over the cap before or after decompression (RESOURCE_EXHAUSTED without
 * `RetryInfo`), one that does not decompress (INTERNAL), a call past its sender's deadline.
 */

import { Buffer } from "node:buffer";
import { Server, ServerCredentials, type ServiceDefinition } from "@grpc/grpc-js";
import { messageOf, OperatingError } from "../../shared/base/errors.ts";
import { formatListenAddress, type ListenAddress } from "../../shared/http/listen_address.ts";
import type { TlsIdentity } from "../../shared/http/serve.ts";
import { LOGS } from "../otlp_logs.ts";
import type { OtlpDeps, OtlpSignal } from "../otlp_route.ts";
import { TRACES } from "../otlp_traces.ts";
import { createExport } from "./export_call.ts";

export interface ServeOtlpOptions {
  readonly listen: ListenAddress;
  /** Plaintext HTTP/2 without. */
  readonly tls: TlsIdentity | undefined;
  /** How long a stop waits for calls in flight before it cuts them. */
  readonly stopMsMax: number;
  readonly deps: OtlpDeps;
}

export interface OtlpServer extends AsyncDisposable {
  readonly address: ListenAddress;
  /**
   * Stops accepting, lets calls in flight finish; what has not arrived within `stopMsMax` is
   * answered UNAVAILABLE. Idempotent.
   */
  stop(): Promise<void>;
}

/** What the library bounds for us, for each connection. */
const CONNECTION = {
  /** Calls at a time; a sender waits with more, as HTTP/2 has it. */
  callsMax: 128,
  /** Without calls for so long, a connection is closed in order. */
  idleMsMax: 10 * 60_000,
  /** A silent connection is probed after the first, and dropped without an answer after the second. */
  probeMs: 2 * 60_000,
  probeAnswerMsMax: 20_000,
} as const;

const SERVICES: readonly { readonly path: string; readonly signal: OtlpSignal }[] = [
  { path: "/opentelemetry.proto.collector.logs.v1.LogsService/Export", signal: LOGS },
  { path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export", signal: TRACES },
];

/** Starts to listen. Errors: `unavailable` or `invalid_argument` naming address and remedy. */
export async function serveOtlp(options: ServeOtlpOptions): Promise<OtlpServer> {
  const { listen, tls, stopMsMax, deps } = options;
  const server = new Server({
    "grpc.max_receive_message_length": deps.bodyBytesMax,
    "grpc.max_concurrent_streams": CONNECTION.callsMax,
    "grpc.max_connection_idle_ms": CONNECTION.idleMsMax,
    "grpc.keepalive_time_ms": CONNECTION.probeMs,
    "grpc.keepalive_timeout_ms": CONNECTION.probeAnswerMsMax,
    "grpc.enable_channelz": 0,
  });
  const stopping = new AbortController();
  const exportDeps = { ...deps, stopping: stopping.signal };
  for (const { path, signal } of SERVICES) {
    server.addService(serviceAt(path), { export: createExport(signal, exportDeps) });
  }
  const port = await bind(server, listen, tls);
  let stopped: Promise<void> | undefined;
  const stop = () => stopped ??= stopWithin(server, { stopMsMax, stopping });
  return { address: { hostname: listen.hostname, port }, stop, [Symbol.asyncDispose]: stop };
}

/** Messages are bytes on both ways. */
function serviceAt(path: string): ServiceDefinition {
  const same = (bytes: Buffer) => bytes;
  return {
    export: {
      path,
      requestStream: true,
      responseStream: false,
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    },
  };
}

function bind(server: Server, listen: ListenAddress, tls: TlsIdentity | undefined) {
  const credentials = tls === undefined ? ServerCredentials.createInsecure() : tlsCredentials(tls);
  return new Promise<number>((resolve, reject) => {
    server.bindAsync(formatListenAddress(listen), credentials, (error, port) => {
      if (error === null) resolve(port);
      else reject(listenError(error, listen));
    });
  });
}

/**
 * Clients need no certificate. Without a list of roots the library offers every one of the file in
 * `GRPC_DEFAULT_SSL_ROOTS_FILE_PATH`, which breaks the handshake where that is set.
 */
const NO_ROOTS = Buffer.alloc(0);

function tlsCredentials({ cert, key }: TlsIdentity): ServerCredentials {
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
  return ServerCredentials.createSsl(NO_ROOTS, [pair], false);
}

function listenError(error: Error, listen: ListenAddress): OperatingError {
  const failed = `cannot listen on ${formatListenAddress(listen)}`;
  const remedy = "change --otlp-grpc-listen or set --disable-otlp-grpc";
  return /EADDRINUSE/.test(error.message)
    ? new OperatingError(
      "unavailable",
      `${failed}: the port is in use; stop the process that has it, ${remedy}`,
      { cause: error },
    )
    : new OperatingError("invalid_argument", `${failed}: ${messageOf(error)}; ${remedy}`, {
      cause: error,
    });
}

interface StopOptions {
  readonly stopMsMax: number;
  readonly stopping: AbortController;
}

/** Tells senders to go elsewhere, lets calls in flight finish, then answers those still arriving. */
async function stopWithin(server: Server, { stopMsMax, stopping }: StopOptions): Promise<void> {
  const timers: ReturnType<typeof setTimeout>[] = [];
  const passed = (ms: number) =>
    new Promise<void>((resolve) => void timers.push(setTimeout(resolve, ms)));
  const finished = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
  await Promise.race([finished, passed(stopMsMax)]);
  stopping.abort(stopped());
  await Promise.race([finished, passed(LAST_ANSWERS_MS_MAX)]);
  timers.forEach(clearTimeout);
  server.forceShutdown();
}

/** How long the answers to calls that were cut may take to leave. */
const LAST_ANSWERS_MS_MAX = 200;

function stopped(): OperatingError {
  return new OperatingError(
    "unavailable",
    "this server is stopping and the message has not arrived: send it again",
    { reason: "stopping", retryAfterSecs: 1 },
  );
}
