/** Tells a connection that is gone from a mistake of this service. HTTP/2 asks here, too. */

/** Whether a read or a write of a connection failed with `error` because its other end is gone. */
export function isLost(error: unknown): boolean {
  if (KINDS.some((kind) => error instanceof kind)) return true;
  // The system's: ECONNRESET, EPIPE, ETIMEDOUT, EHOSTUNREACH …
  return /^E[A-Z]+$/.test(String((error as { readonly code?: unknown } | null)?.code));
}

const { errors } = Deno;

const KINDS = [
  errors.BadResource,
  errors.BrokenPipe,
  errors.ConnectionAborted,
  errors.ConnectionReset,
  errors.Interrupted,
  // A handshake or a record that is no TLS, or its end without a word.
  errors.InvalidData,
  errors.NotConnected,
  errors.TimedOut,
  errors.UnexpectedEof,
];
