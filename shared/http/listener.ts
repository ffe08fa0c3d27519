/**
 * A listening socket that goes on: what one connection does, or the system's lack of descriptors,
 * ends that connection or makes the next one wait, never the listener.
 *
 * Calls `Deno.listen` and `Deno.listenTls` itself. The runtime's own servers do not do this
 * (`shared/http1/README.md`).
 */

import { getLogger } from "@logtape/logtape";
import { counted } from "../base/counted.ts";
import { messageOf, OperatingError } from "../base/errors.ts";
import { type ConnectionBounds, ConnectionCounts } from "./connection_counts.ts";
import type { ListenerMeter } from "./connection_metrics.ts";
import { formatListenAddress, type ListenAddress } from "./listen_address.ts";

/** PEM texts: a certificate chain, own certificate first, and its key. */
export interface TlsIdentity {
  readonly cert: string;
  readonly key: string;
}

/** A connection as it was accepted. Its TLS handshake begins with the first read. */
export interface Accepted {
  readonly conn: Deno.Conn;
  readonly peer: Deno.NetAddr;
}

export interface ListenerOptions extends ListenAddress, ConnectionBounds {
  readonly tls?: TlsIdentity;
  readonly alpnProtocols: readonly string[];
  /** The option that chose the address, for the error text. */
  readonly option?: string;
  readonly meter?: ListenerMeter;
  /** Serves one connection to its end; must not reject. The connection is counted until then. */
  readonly serve: (accepted: Accepted) => Promise<void>;
  /** Ends a connection past the bounds; default: it is closed without a word. */
  readonly refuse?: (conn: Deno.Conn) => void;
  /**
   * Asked when the listener, or an address, is full: whether it closed a connection that nobody
   * needs, of that address.
   */
  readonly makeRoom?: (address: string | undefined) => boolean;
}

/** What a server does with its listener. */
export interface RunningListener {
  readonly address: ListenAddress;
  /** Stops accepting; resolves once the last connection was handed over. Idempotent. */
  close(): Promise<void>;
}

/** Descriptors come back as connections end: the listener looks again after so long. */
const PAUSE_MS = 100;
const LOG_INTERVAL_MS = 60_000;

/** Starts to listen. Errors: those of `listenError`. */
export function startListener(options: ListenerOptions): RunningListener {
  const listener = listen(options);
  const { hostname, port } = listener.addr as Deno.NetAddr;
  const accepting = new Accepting(listener, options).run();
  let isClosed = false;
  return {
    address: { hostname, port },
    close: () => {
      if (!isClosed) listener.close();
      isClosed = true;
      return accepting;
    },
  };
}

function listen(options: ListenerOptions): Deno.Listener {
  const { hostname, port, tls, alpnProtocols } = options;
  try {
    return tls === undefined
      ? Deno.listen({ hostname, port })
      : Deno.listenTls({ hostname, port, ...tls, alpnProtocols: [...alpnProtocols] });
  } catch (error) {
    throw listenError(error, options);
  }
}

class Accepting {
  readonly #listener: Deno.Listener;
  readonly #options: ListenerOptions;
  readonly #counts: ConnectionCounts;
  #failures = 0;
  #toldMs = -Infinity;

  constructor(listener: Deno.Listener, options: ListenerOptions) {
    this.#listener = listener;
    this.#options = options;
    this.#counts = new ConnectionCounts(options);
    options.meter?.gaugeConnections(() => this.#counts.connections);
  }

  /** Until the listener is closed. Never rejects. */
  async run(): Promise<void> {
    for (;;) {
      try {
        this.#take(await this.#listener.accept());
      } catch (error) {
        if (isClosedListener(error)) return;
        this.#tellFailure(error);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
  }

  #take(conn: Deno.Conn): void {
    const peer = conn.remoteAddr as Deno.NetAddr;
    let refusal = this.#counts.enter(peer.hostname);
    const full = refusal === "address_full" ? peer.hostname : undefined;
    if (refusal !== undefined && this.#options.makeRoom?.(full)) {
      refusal = this.#counts.enter(peer.hostname, { isReplacement: true });
    }
    if (refusal !== undefined) {
      this.#options.meter?.refused(refusal);
      return this.#options.refuse === undefined ? conn.close() : this.#options.refuse(conn);
    }
    try {
      if ("setNoDelay" in conn) (conn as Deno.TcpConn).setNoDelay(true);
    } catch { /* The peer is gone again, which its server finds and ends. */ }
    this.#options.serve({ conn, peer }).finally(() => this.#counts.leave(peer.hostname));
  }

  /** Out of descriptors, most likely; perhaps a connection that was lost before it was accepted. */
  #tellFailure(error: unknown): void {
    this.#failures += 1;
    this.#options.meter?.acceptFailed();
    const nowMs = performance.now();
    if (nowMs - this.#toldMs < LOG_INTERVAL_MS) return;
    this.#toldMs = nowMs;
    getLogger(["svc", "http"]).error(
      "cannot accept a connection on {address}: {message}; it is tried again every {ms} ms, it failed {times} so " +
        "far; where descriptors are short, raise their limit (ulimit -n, LimitNOFILE=)",
      {
        address: formatListenAddress(this.#options),
        message: messageOf(error),
        ms: PAUSE_MS,
        times: counted(this.#failures, "time"),
      },
    );
  }
}

function isClosedListener(error: unknown): boolean {
  return error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted;
}

/** The error of a listener that could not be opened, with the remedy. */
export function listenError(
  error: unknown,
  options: ListenAddress & Pick<ListenerOptions, "option" | "tls">,
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
