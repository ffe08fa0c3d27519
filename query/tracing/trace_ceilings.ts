/**
 * How much one trace request may hold, from what it reserves of the memory pool
 * (docs/api/query.md#trace-lookup). The reservation does not depend on the statement, so that a
 * search's `limit` can be judged before anything is planned.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** One request reserves its whole share up to this. */
const RESERVATION_BYTES_MAX = 256 * MIB;
/** A trace found by a search: its place in the list, its processes, its part of the answer. */
const BYTES_PER_TRACE = 32 * KIB;
/** The ids of all traces stand in one statement, whose length has a bound. */
const TRACES_MAX = 4096;
/** A span's row and the least that it becomes in the answer. */
const BYTES_PER_SPAN = 2 * KIB;
/** Rows are held as text, as values and as the answer's text. */
const COPIES_OF_ROWS = 4;
/** A name in a list, with its encoded form and its place in DuckDB's hash table. */
const BYTES_PER_NAME = KIB;

/** Ceilings of one trace request. */
export interface TraceCeilings {
  readonly reservationBytes: number;
  /** Traces that one search or one fetch of several ids may answer. */
  readonly traces: number;
  /** Spans of all traces of an answer, duplicates included. */
  readonly spans: number;
  /** Bytes of rows that DuckDB gave for one request. */
  readonly bytes: number;
  /** Names in a list. */
  readonly names: number;
}

/**
 * The ceilings of one request. `shareBytes` is the most that a request may reserve
 * (`Admission.shareBytes`).
 */
export function traceCeilings(shareBytes: number): TraceCeilings {
  const reservationBytes = Math.min(shareBytes, RESERVATION_BYTES_MAX);
  const holds = (bytesEach: number) => Math.max(1, Math.floor(reservationBytes / bytesEach));
  return {
    reservationBytes,
    traces: Math.min(holds(BYTES_PER_TRACE), TRACES_MAX),
    spans: holds(BYTES_PER_SPAN),
    bytes: holds(COPIES_OF_ROWS),
    names: holds(BYTES_PER_NAME),
  };
}
