/** What one HTTP/1.1 connection may use, and what happens past it. */

export const HTTP1_LIMITS = {
  /** A request line and its header fields; past it 431. */
  headBytesMax: 32 * 1024,
  /** Header fields of a request; past it 431. */
  fieldsMax: 128,
  /**
   * The read buffer of a connection that sends nothing. A body in chunks takes up to
   * `chunkedBufferBytes`.
   */
  bufferBytes: 4 * 1024,
  chunkedBufferBytes: 64 * 1024,
  /** Line of one chunk with its extensions, and the trailer fields; past it the body is broken. */
  chunkLineBytesMax: 4 * 1024,
  /**
   * What the framing of a body in chunks may take besides its bytes, of which it may take as much
   * again.
   */
  chunkOverheadBytes: 64 * 1024,
  /**
   * From the connection (with its TLS handshake) or a request's first byte to the end of its head;
   * past it 408.
   */
  headMsMax: 10_000,
  /**
   * Without a request. Longer than load balancers keep their connections (up to 600 s), so that it
   * is they who close them: a request that crosses our end would be lost.
   */
  idleMsMax: 620_000,
  /** Without a byte taken of an answer; the connection is cut. */
  stallMsMax: 60_000,
  /**
   * What a sender goes on sending behind an early answer is read and dropped, so that it reads
   * that.
   */
  lingerMsMax: 2_000,
  lingerBytesMax: 4 * 1024 * 1024,
  sweepMs: 500,
} as const;
