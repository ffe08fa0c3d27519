/**
 * Which traces a search answers: those whose matching spans started last, without reading what is
 * older than needed.
 *
 * Time is walked back from the end of the range in windows, until enough traces are found. The
 * first window is a few seconds wide, and each is a multiple of the one before. What is left after
 * the first windows is read at once where it is planned to be cheap. In a table of few files one
 * window is first. Every window is read whole. So the traces of newer windows come first whatever
 * is in older ones, and the answer equals that of a scan of the range.
 */

import type { TimeSpan, TraceSearch } from "./search_request.ts";
import type { StatementOptions, StatementRows, TraceCall } from "./trace_call.ts";
import { matchesSql } from "./trace_statements.ts";

/** Reading so many rows takes no longer than planning some windows. */
const CHEAP_ROWS = 200_000;
/**
 * Windows before the rest of the range is planned as a whole. That planning asks the indexes of all
 * its files.
 */
const WINDOWS_FIRST = 3;
/** With so few files that planning takes no longer than that of one more window. */
const FEW_FILES = 4;
const FIRST_WINDOW_NS = 15_000_000_000n;
const WINDOW_GROWTH = 4n;
/** After an empty window the next one may be much wider. */
const EMPTY_GROWTH = 16n;

/** The traces that a search found. */
export interface FoundTraces {
  /** Ids as they are stored, newest match first; at most the limit. */
  readonly ids: readonly string[];
  /** The time from the oldest to the newest of their newest matches. */
  readonly range: TimeSpan;
}

/** Finds traces. `limit` is at most `call.ceilings.traces`. Errors: those of `TraceCall.rows`. */
export async function searchTraces(
  call: TraceCall,
  search: TraceSearch,
  limit: number,
): Promise<FoundTraces> {
  const options: StatementOptions = { rowsMax: limit, breaker: "jaeger_traces" };
  const sqlOf = (range: TimeSpan) => matchesSql(call.made.index, search, { range, limit });
  const found = new Map<string, bigint>();
  const walk = windows(search.range);
  let window = walk.next();
  let windowsFirst = WINDOWS_FIRST;
  for (let windowsRead = 0; window.done !== true && found.size < limit; windowsRead += 1) {
    const rest = { minNs: search.range.minNs, maxNs: window.value.maxNs };
    const atOnce = windowsRead === windowsFirst
      ? await call.rowsWithin(sqlOf(rest), CHEAP_ROWS, options)
      : undefined;
    const { rows, rowsPlanned, filesInAll } = atOnce ??
      await call.rows(sqlOf(window.value), options);
    if (windowsRead === 0 && filesInAll <= FEW_FILES) windowsFirst = 1;
    for (const [id, newestNs] of newestOf(rows)) {
      // A trace that a newer window has comes up again with its older spans.
      if (found.size < limit && !found.has(id)) found.set(id, newestNs);
    }
    if (atOnce !== undefined) break;
    window = walk.next(rowsPlanned === 0 ? "empty" : "read");
  }
  return foundOf(found, search.range);
}

/** The newest match of each trace, in the order of the rows: newest first. */
function newestOf(rows: StatementRows["rows"]): ReadonlyMap<string, bigint> {
  return new Map(rows.map(([id, newestNs]) => [String(id), BigInt(String(newestNs))]));
}

function foundOf(found: ReadonlyMap<string, bigint>, searched: TimeSpan): FoundTraces {
  const times = [...found.values()];
  return {
    ids: [...found.keys()],
    range: { minNs: times.at(-1) ?? searched.minNs, maxNs: times[0] ?? searched.maxNs },
  };
}

/**
 * Windows that together are `range`, newest first. The caller says of each whether there was
 * anything in it.
 */
export function* windows(
  { minNs, maxNs }: TimeSpan,
): Generator<TimeSpan, void, "empty" | "read" | undefined> {
  let widthNs = FIRST_WINDOW_NS;
  for (let endNs = maxNs; endNs >= minNs;) {
    const startNs = endNs - widthNs + 1n;
    const was = yield { minNs: startNs > minNs ? startNs : minNs, maxNs: endNs };
    endNs = startNs - 1n;
    widthNs *= was === "empty" ? EMPTY_GROWTH : WINDOW_GROWTH;
  }
}
