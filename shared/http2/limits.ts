/** What one connection and one listener may use, and what happens past it. */

export const HTTP2_LIMITS = {
  /** Calls at a time on a connection; a sender that knows waits, the next stream is refused. */
  streamsMax: 128,
  /** Body bytes that a stream may send ahead of its reader. */
  streamWindowBytes: 256 * 1024,
  /** The receive window of all streams of a connection together. */
  connectionWindowBytes: 1024 * 1024,
  /** A header block, compressed, and its fields, decoded; past it the connection ends. */
  headerBytesMax: 32 * 1024,
  /** Answers that a peer does not read; past it the connection ends. */
  unreadBytesMax: 1024 * 1024,
  /**
   * Work for the frames of a connection, in microseconds, about; past it others have their turn
   * first.
   */
  turnWork: 500,
  /**
   * How much of it comes back by itself: a connection that takes less of a processor never waits.
   */
  workPerMs: 250,
  /**
   * Waste (`frame_cost.ts`); past it the connection ends. A call that is reset counts for ten,
   * pings and the like for one.
   */
  wasteMax: 2_000,
  wastePerSec: 1_000,
  /** A peer that hangs up after more of it keeps its place as one that is ended does. */
  wasteForgotten: 200,
  /** Waste that an answered call makes up for: what senders send around it. */
  wastePerAnswer: 20,
  /** From the connection to its preface. */
  prefaceMsMax: 10_000,
  /** Without calls for so long, a connection is ended in order. */
  idleMsMax: 10 * 60_000,
  /**
   * Answers that wait for the peer's window and of which none was sent for so long; past it the
   * connection ends.
   */
  answerMsMax: 60_000,
  /** A silent connection is pinged after the first, and cut without an answer after the second. */
  pingAfterMs: 2 * 60_000,
  pingAnswerMsMax: 20_000,
  sweepMs: 5_000,
} as const;
