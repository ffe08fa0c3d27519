/**
 * An HTTP/1.1 and h2c listener with a bounded graceful stop.
 *
 * Calls `Deno.serve` itself: a listener is what this folder is about, and tests use real ones on
 * port 0. Does not cover routing, where certificates come from (`tls_files.ts`), or how errors look
 * (`error_response.ts`); a handler must answer its own errors.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, messageOf, OperatingError } from "../base/errors.ts";
import { formatListenAddress, type ListenAddress } from "./listen_address.ts";

export type Handler = (
  request: Request,
  info: Deno.ServeHandlerInfo<Deno.NetAddr>,
) => Response | Promise<Response>;

/** PEM texts: a certificate chain, own certificate first, and its key. */
export interface TlsIdentity {
  readonly cert: string;
  readonly key: string;
}

export interface ServeOptions {
  readonly hostname: string;
  /** 0 takes a free port; `RunningServer.address` tells which. */
  readonly port: number;
  readonly handler: Handler;
  readonly onListen?: (address: ListenAddress) => void;
  /** Serves HTTPS (HTTP/1.1 and HTTP/2) instead of HTTP. */
  readonly tls?: TlsIdentity;
  /** Aborting it is the same as calling `stop`. */
  readonly signal?: AbortSignal;
  /** The option that chose the address, for the error text: `--bind`. */
  readonly option?: string;
  /** How long a stop waits for requests in flight. Default 10,000. */
  readonly stopMsMax?: number;
}

export interface RunningServer extends AsyncDisposable {
  readonly address: ListenAddress;
  /**
   * Stops accepting and lets requests in flight finish; whether all did within `stopMsMax`. The
   * runtime has no way to cut the others: they end with the process. Accepts as long as bodies arrive
   * of requests that came before, for half of that time at most. Idempotent.
   */
  stop(): Promise<boolean>;
  /** Resolves once the listener and all connections are closed. */
  readonly finished: Promise<void>;
}

/** Requests whose bodies nothing more is read of, as their server stops. The error of a read is that of a sender that left. */
const cutByStop = new WeakSet<Request>();

/** Whether the rest of the body was given up because the server stops. */
export function isCutByStop(request: Request): boolean {
  return cutByStop.has(request);
}

const STOP_MS_MAX_DEFAULT = 10_000;
/** Of `stopMsMax`: how long a stop waits for bodies. What arrives later of them is lost: the runtime reads none then. */
const BODIES_SHARE = 0.5;

/**
 * Starts to listen. Errors: `unavailable` or `invalid_argument` naming the address and the remedy.
 */
export function serve(options: ServeOptions): RunningServer {
  /** Of requests that may have a body. */
  const answers = new Map<Request, Response | Promise<Response>>();
  const handler: Handler = async (request, info) => {
    const answer = options.handler(request, info);
    if (request.method === "GET" || request.method === "HEAD") return answer;
    answers.set(request, answer);
    try {
      return await answer;
    } finally {
      answers.delete(request);
    }
  };
  const server = listen({ ...options, handler });
  const { hostname, port } = server.addr;
  const address = { hostname, port };
  options.onListen?.(address);

  const { stopMsMax = STOP_MS_MAX_DEFAULT } = options;
  let stopping: Promise<boolean> | undefined;
  const stop = () =>
    stopping ??= (async () => {
      const startMs = performance.now();
      await within(stopMsMax * BODIES_SHARE, Promise.allSettled(answers.values()));
      for (const request of answers.keys()) cutByStop.add(request);
      return await within(stopMsMax - (performance.now() - startMs), server.shutdown());
    })();
  if (options.signal?.aborted) stop();
  options.signal?.addEventListener("abort", stop, { once: true });
  return {
    address,
    stop,
    finished: server.finished,
    [Symbol.asyncDispose]: async () => void await stop(),
  };
}

function listen(options: ServeOptions): Deno.HttpServer<Deno.NetAddr> {
  const { hostname, port, handler } = options;
  const log = getLogger(["svc", "http"]);
  try {
    return Deno.serve({
      hostname,
      port,
      ...options.tls,
      onListen: () => {},
      // Also told of a body that fails after its answer began, twice by this runtime.
      onError: (error) => {
        if (isOperatingError(error, "cancelled")) {
          log.info("an answer ended early: {why}", { why: error.message });
        } else log.error("request handler threw: {error}", { error });
        return new Response(null, { status: 500 });
      },
    }, handler);
  } catch (error) {
    throw listenError(error, options);
  }
}

/** The error of a listener that could not be opened, with the remedy. */
export function listenError(
  error: unknown,
  options: ListenAddress & Pick<ServeOptions, "option" | "tls">,
): OperatingError {
  const where = formatListenAddress(options);
  const option = options.option ?? "the listen option";
  const failed = `cannot listen on ${where}`;
  if (error instanceof Deno.errors.AddrInUse) {
    return new OperatingError(
      "unavailable",
      `${failed}: the port is in use; stop the process that has it or change ${option}`,
      { cause: error },
    );
  }
  if (error instanceof Deno.errors.AddrNotAvailable) {
    return new OperatingError(
      "invalid_argument",
      `${failed}: this machine has no such address; choose one of its own with ${option}`,
      { cause: error },
    );
  }
  if (error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotCapable) {
    return new OperatingError(
      "permission_denied",
      `${failed}: not permitted (${messageOf(error)}); grant it or choose another with ${option}`,
      { cause: error },
    );
  }
  return new OperatingError(
    "invalid_argument",
    `${failed}: ${messageOf(error)}; change ${option}` +
      (options.tls === undefined ? "" : ", or the files of --tls-cert and --tls-key"),
    { cause: error },
  );
}

/** Whether `work` ends within `msMax`. */
async function within(msMax: number, work: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), msMax);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
