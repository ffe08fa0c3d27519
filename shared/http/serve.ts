/**
 * An HTTP/1.1 listener with bounded connections and a bounded graceful stop, over `shared/http1`.
 *
 * Does not cover routing, where certificates come from (`tls_files.ts`), or how errors look
 * (`error_response.ts`); a handler must answer its own errors.
 */

import { Http1Connection } from "../http1/connection.ts";
import type { ByteConnection } from "../http1/input.ts";
import { HTTP1_LIMITS } from "../http1/limits.ts";
import { type ConnectionBounds, networkOf } from "./connection_counts.ts";
import type { ListenerMeter } from "./connection_metrics.ts";
import type { ListenAddress } from "./listen_address.ts";
import {
  type Accepted,
  type RunningListener,
  startListener,
  type TlsIdentity,
} from "./listener.ts";

/** What a handler learns of the connection. */
export interface ConnectionInfo {
  readonly remoteAddr: Deno.NetAddr;
}

export type Handler = (request: Request, info: ConnectionInfo) => Response | Promise<Response>;

export interface ServeOptions {
  readonly hostname: string;
  /** 0 takes a free port; `RunningServer.address` tells which. */
  readonly port: number;
  readonly handler: Handler;
  /** Serves HTTPS instead of HTTP. */
  readonly tls?: TlsIdentity;
  /** The option that chose the address, for the error text: `--bind`. */
  readonly option?: string;
  /** How long a stop waits for requests in flight. Default 10,000. */
  readonly stopMsMax?: number;
  /** Default `CONNECTION_BOUNDS_DEFAULT`. */
  readonly bounds?: ConnectionBounds;
  readonly meter?: ListenerMeter;
  /** How long a client may take nothing of its answer. Default `HTTP1_LIMITS.stallMsMax`. */
  readonly stallMsMax?: number;
  /** Whether answers are compressed for clients that ask for it. Default false. */
  readonly compresses?: boolean;
}

/** A listener that serves until it is disposed of. */
export interface RunningServer extends AsyncDisposable {
  readonly address: ListenAddress;
  /**
   * Stops accepting and lets requests in flight finish; whether all did within `stopMsMax`. The
   * others are cut after half as long again, in which their handlers may be ended. Accepts as long
   * as requests with a body are in flight, for half of that time at most. Idempotent.
   */
  stop(): Promise<boolean>;
  /** Resolves once the listener and all connections are closed. */
  readonly finished: Promise<void>;
}

/**
 * Requests whose bodies nothing more is read of, as their server stops. The error of a read is that
 * of a sender that left.
 */
const cutByStop = new WeakSet<Request>();

/** Whether the rest of the body was given up because the server stops. */
export function isCutByStop(request: Request): boolean {
  return cutByStop.has(request);
}

const STOP_MS_MAX_DEFAULT = 10_000;
/**
 * How long a stop waits for bodies, as a share of `stopMsMax`. What arrives later of them is lost.
 */
const BODIES_SHARE = 0.5;
const BODIES_POLL_MS = 5;
/**
 * How long after a stop that gave up waiting its connections are cut, as a share of `stopMsMax`.
 */
const CUT_SHARE = 0.5;
/** For listeners of tools and tests; a role's are sized by its options and its file descriptors. */
export const CONNECTION_BOUNDS_DEFAULT: ConnectionBounds = {
  connectionsMax: 16_384,
  connectionsPerAddressMax: Infinity,
};

/**
 * Starts to listen. Errors: `unavailable` or `invalid_argument` naming the address and the remedy.
 */
export function serve(options: ServeOptions): RunningServer {
  return new Server(options);
}

class Server implements RunningServer {
  readonly #options: ServeOptions;
  readonly #listener: RunningListener;
  readonly #running = new Map<Http1Connection, Promise<void>>();
  /** Connections without a whole request, the longest first. */
  readonly #waiting = new Set<Http1Connection>();
  readonly #finished = Promise.withResolvers<void>();
  readonly #sweep: ReturnType<typeof setInterval>;
  #stopping: Promise<boolean> | undefined;

  constructor(options: ServeOptions) {
    const { hostname, port, tls, option, meter, bounds = CONNECTION_BOUNDS_DEFAULT } = options;
    this.#options = options;
    this.#listener = startListener({
      ...{ hostname, port, ...bounds, alpnProtocols: ["http/1.1"] },
      ...(tls === undefined ? {} : { tls }),
      ...(option === undefined ? {} : { option }),
      ...(meter === undefined ? {} : { meter }),
      serve: (accepted) => this.#serve(accepted),
      makeRoom: (address) => this.#evict(address),
    });
    this.#sweep = setInterval(() => {
      const nowMs = performance.now();
      for (const connection of this.#running.keys()) connection.sweep(nowMs);
    }, HTTP1_LIMITS.sweepMs);
  }

  get address(): ListenAddress {
    return this.#listener.address;
  }

  get finished(): Promise<void> {
    return this.#finished.promise;
  }

  stop(): Promise<boolean> {
    return this.#stopping ??= this.#stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #stop(): Promise<boolean> {
    const { stopMsMax = STOP_MS_MAX_DEFAULT } = this.#options;
    const startMs = performance.now();
    while (this.#hasBodiesInFlight() && performance.now() - startMs < stopMsMax * BODIES_SHARE) {
      await new Promise((resolve) => setTimeout(resolve, BODIES_POLL_MS));
    }
    for (const connection of this.#running.keys()) {
      const request = connection.cutBody();
      if (request !== undefined) cutByStop.add(request);
    }
    await this.#listener.close();
    for (const connection of this.#running.keys()) connection.drain();
    const leftMs = Math.max(0, stopMsMax - (performance.now() - startMs));
    const all = Promise.all(this.#running.values());
    const isDone = await within(leftMs, all);
    this.#finish(all, stopMsMax * CUT_SHARE);
    return isDone;
  }

  /**
   * Cuts what is left after `msMax`: until then the stopping process may still end what requests
   * wait for.
   */
  async #finish(all: Promise<unknown>, msMax: number): Promise<void> {
    await within(msMax, all);
    for (const connection of this.#running.keys()) connection.close();
    clearInterval(this.#sweep);
    this.#finished.resolve();
  }

  #hasBodiesInFlight(): boolean {
    return this.#running.keys().some((connection) => connection.hasBodyInFlight);
  }

  #serve({ conn, peer }: Accepted): Promise<void> {
    const info = { remoteAddr: peer };
    const connection = new Http1Connection(byteConnection(conn), {
      peer: peer.hostname,
      scheme: this.#options.tls === undefined ? "http" : "https",
      handler: (request) => this.#options.handler(request, info),
      nowMs: () => performance.now(),
      stallMsMax: this.#options.stallMsMax ?? HTTP1_LIMITS.stallMsMax,
      compresses: this.#options.compresses ?? false,
      onRefusal: (reason) => this.#options.meter?.requestRefused(reason),
      onWaiting: (it, isWaiting) => {
        this.#waiting.delete(it);
        if (isWaiting) this.#waiting.add(it);
      },
    });
    const served = connection.run().finally(() => this.#running.delete(connection));
    this.#running.set(connection, served);
    return served;
  }

  /**
   * Closes the connection that has been without a request, or with a part of one, for longest. With
   * an address it is one of that address between two requests: nobody gains by opening more.
   */
  #evict(address: string | undefined): boolean {
    const network = address === undefined ? undefined : networkOf(address);
    const longest = this.#waiting.values().find(({ peer, isIdle }) =>
      network === undefined || (isIdle && networkOf(peer) === network)
    );
    if (longest === undefined) return false;
    this.#options.meter?.evicted();
    longest.close();
    return true;
  }
}

/** A connection that may be closed again: it may have been lost meanwhile. */
function byteConnection(conn: Deno.Conn): ByteConnection {
  return {
    read: (into) => conn.read(into),
    write: (bytes) => conn.write(bytes),
    closeWrite: () => conn.closeWrite(),
    close: () => {
      try {
        conn.close();
      } catch (error) {
        if (!(error instanceof Deno.errors.BadResource)) throw error;
      }
    },
  };
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
