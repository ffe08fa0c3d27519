/**
 * Names of services, and of one service's operations. What a table's snapshot holds is read once
 * and kept with that snapshot. A later snapshot adds the names of the files that came since. Once
 * rows were taken out, all is read again. Rows that are only in the WAL are read each time and
 * added, so that a list never lacks an acknowledged span.
 *
 * Order matters: the WAL is read first, and says which snapshot it comes on top of. A row that is
 * committed meanwhile is in both, and its name counts once.
 */

import type { TraceCall } from "./trace_call.ts";
import { operationsSql, servicesSql } from "./trace_statements.ts";

/**
 * Bytes of a list with its key. A longer list is read anew each time. See
 * docs/api/query.md#trace-lookup.
 */
export const ENTRY_BYTES_MAX = 512 * 1024;
/** A string's own head, and its place in the list. */
const BYTES_PER_STRING = 40;

/** An operation of a service with one kind. */
export interface Operation {
  readonly name: string;
  /** The kind as it is stored: `SPAN_KIND_SERVER` and so on. */
  readonly kind: string;
}

/**
 * Service names, sorted and distinct. Errors: those of `TraceCall.rows`; `too_large` past the
 * names' ceiling.
 */
export async function serviceNames(call: TraceCall, cache: NameCache): Promise<string[]> {
  const keys = await listOf(call, cache, { key: "services", sql: servicesSql(call.made.index) });
  return keys.map(([name]) => String(name));
}

/** Operations of all kinds, sorted by name and kind. Errors: those of `serviceNames`. */
export async function operations(
  call: TraceCall,
  cache: NameCache,
  service: string,
): Promise<Operation[]> {
  const sql = operationsSql(call.made.index, service);
  const keys = await listOf(call, cache, { key: `operations ${service}`, sql });
  return keys.map(([name, kind]) => ({ name: String(name), kind: String(kind) }));
}

type NameRow = readonly unknown[];

async function listOf(
  call: TraceCall,
  cache: NameCache,
  list: { readonly key: string; readonly sql: string },
): Promise<NameRow[]> {
  const rowsMax = call.ceilings.names;
  const fresh = await call.rows(list.sql, { rowsMax, breaker: "jaeger_names", source: "wal" });
  const stored = await committed(call, cache, { ...list, snapshotId: fresh.snapshotId });
  const names = distinct([...stored, ...fresh.rows]);
  if (names.length > rowsMax) throw call.beyond("jaeger_names", `more than ${rowsMax} names`);
  return names.sort(byNames);
}

/** Keeps each name once. A count beside a name is no part of it. */
function distinct(rows: readonly NameRow[]): NameRow[] {
  const byText = new Map<string, NameRow>();
  for (const row of rows) {
    const names = row.filter((cell) => typeof cell === "string");
    byText.set(JSON.stringify(names), names);
  }
  return [...byText.values()];
}

function byNames(a: NameRow, b: NameRow): number {
  const at = a.findIndex((name, i) => name !== b[i]);
  return at < 0 ? 0 : String(a[at]) < String(b[at]) ? -1 : 1;
}

async function committed(
  call: TraceCall,
  cache: NameCache,
  { key, sql, snapshotId }: {
    readonly key: string;
    readonly sql: string;
    readonly snapshotId: string | null;
  },
): Promise<readonly NameRow[]> {
  if (snapshotId === null) return [];
  const place = JSON.stringify([call.made.caller.namespace, call.made.index, key]);
  const held = cache.get(place);
  if (held?.snapshotId === snapshotId) return held.rows;
  const read = await call.rows(sql, {
    rowsMax: call.ceilings.names,
    breaker: "jaeger_names",
    source: "committed",
    since: held?.snapshotId,
  });
  const rows = distinct(read.since === undefined ? read.rows : [...held?.rows ?? [], ...read.rows]);
  // This may be a later snapshot by now, which has all rows that were read from the WAL.
  if (read.snapshotId !== null) cache.set(place, { snapshotId: read.snapshotId, rows });
  return rows;
}

/** A list that is kept with the snapshot that it was read from. */
export interface NameList {
  /** The table's snapshot, when all of its names were in the list. */
  readonly snapshotId: string;
  readonly rows: readonly NameRow[];
}

/** Complete lists, each within `ENTRY_BYTES_MAX`. The least recently used go first. */
export class NameCache {
  readonly #lists = new Map<string, NameList & { readonly bytes: number }>();
  #bytes = 0;

  /** `bytesMax`: of all lists. */
  constructor(private readonly bytesMax: number) {}

  get bytes(): number {
    return this.#bytes;
  }

  giveWay(): void {
    this.#lists.clear();
    this.#bytes = 0;
  }

  get(key: string): NameList | undefined {
    const held = this.#lists.get(key);
    if (held === undefined) return undefined;
    this.#lists.delete(key);
    this.#lists.set(key, held);
    return held;
  }

  /** Replaces the list that was there. A list past the entry's bound is not kept. */
  set(key: string, list: NameList): void {
    this.#drop(key);
    const bytes = bytesOf(key, list);
    if (bytes > ENTRY_BYTES_MAX) return;
    this.#lists.set(key, { ...list, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#lists.keys()) {
      if (this.#bytes <= this.bytesMax) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#lists.get(key)?.bytes ?? 0;
    this.#lists.delete(key);
  }
}

/** Bytes in memory, where a character takes at most two bytes. */
function bytesOf(key: string, { snapshotId, rows }: NameList): number {
  let bytes = 2 * (key.length + snapshotId.length);
  for (const row of rows) {
    for (const cell of row) {
      bytes += BYTES_PER_STRING + (typeof cell === "string" ? 2 * cell.length : 0);
    }
  }
  return bytes;
}
