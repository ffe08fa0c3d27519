/**
 * A listener for HTTP/2 alone: plaintext with prior knowledge, or TLS.
 *
 * `shared/http/listener.ts` accepts and bounds connections, as it does for HTTP/1.1.
 */

import type { ConnectionBounds } from "../http/connection_counts.ts";
import type { ListenerMeter } from "../http/connection_metrics.ts";
import type { ListenAddress } from "../http/listen_address.ts";
import { type Accepted, startListener, type TlsIdentity } from "../http/listener.ts";
import { Http2Connection, type Http2Handler } from "./connection.ts";
import { HTTP2_LIMITS } from "./limits.ts";
import { LoopTurns } from "./turns.ts";

export interface ServeHttp2Options extends ListenAddress {
  readonly handler: Http2Handler;
  readonly tls?: TlsIdentity;
  /** The option that chose the address, for the error text. */
  readonly option: string;
  /** How long a stop waits for calls in flight before it cuts their connections. */
  readonly stopMsMax: number;
  readonly bounds: ConnectionBounds;
  readonly meter?: ListenerMeter;
}

/** A listener that serves until it is disposed of. */
export interface Http2Server extends AsyncDisposable {
  readonly address: ListenAddress;
  /** Stops accepting, lets calls in flight finish, cuts the others. Idempotent. */
  stop(): Promise<void>;
}

/** Starts to listen. Errors: those of `listenError`. */
export function serveHttp2(options: ServeHttp2Options): Http2Server {
  const { hostname, port, tls, option, bounds, meter } = options;
  const running = new Map<Http2Connection, Promise<void>>();
  const nowMs = () => performance.now();
  const turns = new LoopTurns();
  const sweep = setInterval(() => {
    for (const connection of running.keys()) connection.sweep();
  }, HTTP2_LIMITS.sweepMs);
  const serve = ({ conn, peer }: Accepted) => {
    const connection = new Http2Connection(onceClosed(conn), {
      peer: peer.hostname,
      handler: options.handler,
      nowMs,
      turns,
    });
    const served = connection.run().finally(() => running.delete(connection));
    running.set(connection, served);
    return served;
  };
  const listener = startListener({
    ...{ hostname, port, option, ...bounds, alpnProtocols: ["h2"], serve },
    ...(tls === undefined ? {} : { tls }),
    ...(meter === undefined ? {} : { meter }),
  });
  let stopping: Promise<void> | undefined;
  const stop = () =>
    stopping ??= (async () => {
      await listener.close();
      for (const connection of running.keys()) connection.drain();
      await within(options.stopMsMax, Promise.all(running.values()));
      for (const connection of running.keys()) connection.close();
      await Promise.all(running.values());
      clearInterval(sweep);
    })();
  return { address: listener.address, stop, [Symbol.asyncDispose]: stop };
}

/** A connection that may be closed again: it may have been lost meanwhile. */
function onceClosed(conn: Deno.Conn) {
  return {
    read: (into: Uint8Array) => conn.read(into),
    write: (bytes: Uint8Array) => conn.write(bytes),
    close: () => {
      try {
        conn.close();
      } catch (error) {
        if (!(error instanceof Deno.errors.BadResource)) throw error;
      }
    },
  };
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
