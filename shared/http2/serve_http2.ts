/**
 * A listener for HTTP/2 alone: plaintext with prior knowledge, or TLS.
 *
 * Calls `Deno.listen` and `Deno.listenTls` itself, as `shared/http/serve.ts` calls `Deno.serve`.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../base/errors.ts";
import type { ListenAddress } from "../http/listen_address.ts";
import { listenError, type TlsIdentity } from "../http/serve.ts";
import { Http2Connection, type Http2Handler } from "./connection.ts";
import { HTTP2_LIMITS } from "./limits.ts";
import { Turns } from "./turns.ts";

export interface ServeHttp2Options extends ListenAddress {
  readonly handler: Http2Handler;
  readonly tls?: TlsIdentity;
  /** The option that chose the address, for the error text. */
  readonly option: string;
  /** How long a stop waits for calls in flight before it cuts their connections. */
  readonly stopMsMax: number;
}

export interface Http2Server extends AsyncDisposable {
  readonly address: ListenAddress;
  /** Stops accepting, lets calls in flight finish, cuts the others. Idempotent. */
  stop(): Promise<void>;
}

/** Starts to listen. Errors: those of `listenError`. */
export function serveHttp2(options: ServeHttp2Options): Http2Server {
  const listener = listen(options);
  const { hostname, port } = listener.addr as Deno.NetAddr;
  const running = new Map<Http2Connection, Promise<void>>();
  const nowMs = () => performance.now();
  const turns = new Turns();
  const sweep = setInterval(() => {
    for (const connection of running.keys()) connection.sweep();
  }, HTTP2_LIMITS.sweepMs);
  const accept = (conn: Deno.Conn) => {
    if (running.size >= HTTP2_LIMITS.connectionsMax) return conn.close();
    if ("setNoDelay" in conn) (conn as Deno.TcpConn).setNoDelay(true);
    const peer = (conn.remoteAddr as Deno.NetAddr).hostname;
    const connection = new Http2Connection(onceClosed(conn), {
      peer,
      handler: options.handler,
      nowMs,
      turns,
    });
    running.set(connection, connection.run().finally(() => running.delete(connection)));
  };
  const accepting = acceptAll(listener, accept);
  let stopping: Promise<void> | undefined;
  const stop = () =>
    stopping ??= (async () => {
      listener.close();
      await accepting;
      for (const connection of running.keys()) connection.drain();
      await within(options.stopMsMax, Promise.all(running.values()));
      for (const connection of running.keys()) connection.close();
      await Promise.all(running.values());
      clearInterval(sweep);
    })();
  return { address: { hostname, port }, stop, [Symbol.asyncDispose]: stop };
}

function listen(options: ServeHttp2Options): Deno.Listener {
  const { hostname, port, tls } = options;
  try {
    return tls === undefined
      ? Deno.listen({ hostname, port })
      : Deno.listenTls({ hostname, port, ...tls, alpnProtocols: ["h2"] });
  } catch (error) {
    throw listenError(error, options);
  }
}

/** Until the listener is closed. A connection that fails to open is its peer's loss alone. */
async function acceptAll(
  listener: Deno.Listener,
  accept: (conn: Deno.Conn) => void,
): Promise<void> {
  for (;;) {
    try {
      accept(await listener.accept());
    } catch (error) {
      if (error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted) {
        return;
      }
      getLogger(["svc", "http"]).warn("cannot accept a connection: {message}", {
        message: messageOf(error),
      });
      // Out of file descriptors, most likely: they come back.
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
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
