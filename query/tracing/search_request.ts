/**
 * What a search asks, whichever API it came by: conditions on one span, a time range, and how many
 * traces.
 */

/** A search by either API. */
export interface TraceSearch extends SpanConditions {
  readonly range: TimeSpan;
  /** Traces wanted; undefined: the API's default. */
  readonly limit: number | undefined;
}

/** Conditions on one span: a trace matches when one of its spans meets all of them. */
export interface SpanConditions {
  readonly service?: string;
  readonly operation?: string;
  /** Tags by name, each with its value as text. */
  readonly tags: ReadonlyMap<string, string>;
  readonly durationNsMin?: bigint;
  readonly durationNsMax?: bigint;
}

/** Unix nanoseconds, both inclusive, of a span's start. */
export interface TimeSpan {
  readonly minNs: bigint;
  readonly maxNs: bigint;
}

/** Traces that a search answers when it does not say how many. Both APIs have this default. */
export const SEARCH_LIMIT_DEFAULT = 100;
