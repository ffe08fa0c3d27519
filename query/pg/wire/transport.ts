/**
 * The bytes of a connection: those of its socket, or of TLS above it. The runtime has no server
 * side of `Deno.startTls`, so TLS is `node:tls` over a `Duplex` around the socket.
 */

import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import { OperatingError } from "../../../shared/base/errors.ts";
import type { Accepted, TlsIdentity } from "../../../shared/http/listener.ts";

/** A connection as the listener accepted it. */
export type Socket = Pick<Accepted["conn"], "read" | "write" | "close">;

/** What a session reads and writes. */
export interface Transport {
  readonly isTls: boolean;
  /** Bytes read into `into`; null at the end. Errors: the connection's. */
  read(into: Uint8Array): Promise<number | null>;
  /** Resolves when all is handed to the system: a client that takes nothing holds this up. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends both directions at once. Idempotent. */
  close(): void;
}

/** What ALPN calls the protocol, for TLS without an SSLRequest. */
const ALPN = "postgresql";
const READ_BYTES = 16_384;
/** A client is not read further while so much of what it sent waits. */
const UNREAD_BYTES_MAX = 65_536;

/** A connection without TLS. Its methods are no closures, which each idle session would hold. */
export class PlainTransport implements Transport {
  constructor(private readonly conn: Socket) {}

  get isTls(): boolean {
    return false;
  }

  read(into: Uint8Array): Promise<number | null> {
    return this.conn.read(into);
  }

  write(bytes: Uint8Array): Promise<void> {
    return writeAll(this.conn, bytes);
  }

  close(): void {
    closeConn(this.conn);
  }
}

async function writeAll(conn: Socket, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.byteLength;) at += await conn.write(bytes.subarray(at));
}

function closeConn(conn: Socket): void {
  try {
    conn.close();
  } catch { /* It is closed, or was lost. */ }
}

/** What handshakes are made with, made once. */
export function secureContext({ cert, key }: TlsIdentity): SecureContext {
  return createSecureContext({ cert, key, minVersion: "TLSv1.2" });
}

/**
 * Makes the server's side of a TLS handshake. `seen`: bytes of it that were read already;
 * `needsAlpn`: the client did not ask first, so it must name the protocol. Errors: the handshake's.
 */
export async function tlsTransport(
  conn: Socket,
  { context, seen, needsAlpn, onBegun }: {
    readonly context: SecureContext;
    readonly seen: Uint8Array;
    readonly needsAlpn: boolean;
    /** Told how to end a handshake that takes too long. */
    readonly onBegun: (close: () => void) => void;
  },
): Promise<Transport> {
  const { promise: ended, reject: onEnd } = Promise.withResolvers<never>();
  const under = duplexOf(conn, { seen, onEnd });
  const socket = new TLSSocket(under as never, {
    isServer: true,
    secureContext: context,
    ALPNProtocols: [ALPN],
  });
  // Errors reach the reads and writes that meet them.
  socket.on("error", () => {});
  under.on("error", () => {});
  const close = () => {
    socket.destroy();
    under.destroy();
    closeConn(conn);
    onEnd(new Error("the handshake was ended"));
  };
  onBegun(close);
  ended.catch(() => {});
  try {
    await Promise.race([secured(socket), ended]);
    if (needsAlpn && socket.alpnProtocol !== ALPN) {
      throw new OperatingError("invalid_argument", `the client names no protocol by ALPN`);
    }
  } catch (error) {
    close();
    throw error;
  }
  return new TlsTransport(socket, close);
}

function secured(socket: TLSSocket): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once("secure", () => resolve());
  socket.once("error", reject);
  socket.once("close", () => reject(new Error("the connection ended in its handshake")));
  return promise;
}

class TlsTransport implements Transport {
  readonly isTls = true;
  /** What came and was not read. */
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #ended = false;
  #failure: unknown;
  #wake: () => void = () => {};

  constructor(private readonly socket: TLSSocket, readonly close: () => void) {
    const end = (failure?: unknown) => {
      this.#ended = true;
      this.#failure ??= failure;
      this.#wake();
    };
    socket.on("data", (chunk: Uint8Array) => {
      this.#chunks.push(chunk);
      this.#bytes += chunk.byteLength;
      if (this.#bytes >= UNREAD_BYTES_MAX) socket.pause();
      this.#wake();
    });
    socket.once("end", () => end());
    socket.once("close", () => end());
    socket.once("error", end);
  }

  async read(into: Uint8Array): Promise<number | null> {
    for (;;) {
      const [first] = this.#chunks;
      if (first !== undefined) return this.#take(first, into);
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#ended) return null;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  #take(first: Uint8Array, into: Uint8Array): number {
    const taken = first.subarray(0, into.byteLength);
    into.set(taken);
    if (taken.byteLength === first.byteLength) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(taken.byteLength);
    this.#bytes -= taken.byteLength;
    if (this.#bytes < UNREAD_BYTES_MAX && this.socket.isPaused()) this.socket.resume();
    return taken.byteLength;
  }

  async write(bytes: Uint8Array): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onClose = () => reject(new Error("the connection was closed"));
    this.socket.once("close", onClose);
    // The bytes are read when the socket gets to them, so they must not be written to any more.
    this.socket.write(bytes, (error) => error ? reject(error) : resolve());
    try {
      if (this.socket.destroyed) throw new Error("the connection was closed");
      await promise;
    } finally {
      this.socket.off("close", onClose);
    }
  }
}

/**
 * `node:tls` begins a handshake a tick after it was made, and throws where nobody can catch it if
 * the handshake has failed by then. So nothing is read before that tick has passed.
 */
function duplexOf(
  conn: Socket,
  { seen, onEnd }: { readonly seen: Uint8Array; readonly onEnd: (error: Error) => void },
): Duplex {
  let first: Uint8Array | undefined = seen.byteLength > 0 ? seen : undefined;
  const buffer = new Uint8Array(READ_BYTES);
  const begun = new Promise<void>((resolve) => setTimeout(resolve, 0));
  const read = async (): Promise<Uint8Array | null> => {
    await begun;
    if (first !== undefined) {
      const seen = first;
      first = undefined;
      return seen;
    }
    const count = await conn.read(buffer);
    if (count === null) onEnd(new Error("the connection ended in its handshake"));
    return count === null ? null : buffer.subarray(0, count);
  };
  return new Duplex({
    read() {
      read().then(
        (bytes) => this.push(bytes === null ? null : Buffer.from(bytes)),
        (error) => {
          onEnd(error);
          this.destroy(error);
        },
      );
    },
    write(chunk: Uint8Array, _encoding, done) {
      writeAll(conn, chunk).then(() => done(), done);
    },
    destroy(error, done) {
      closeConn(conn);
      done(error);
    },
  });
}
