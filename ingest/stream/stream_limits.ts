/** Bounds of streams of rows to their readers; what happens past each: `ingest/README.md`. */

export const STREAM_LIMITS = {
  readersMax: 32,
  tenantReadersMax: 8,
  readerBytesMax: 4 * 1024 * 1024,
  /** Bytes after which a piece of a batch is handed to the readers. */
  pieceBytes: 64 * 1024,
  keepAliveMs: 15_000,
  lastMsMax: 5_000,
  retryAfterSecs: 5,
} as const;
