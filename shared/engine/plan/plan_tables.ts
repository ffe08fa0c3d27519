/**
 * Plans the tables of one statement: names to snapshots, time ranges to files, what is left of the
 * WAL.
 */

import { isOperatingError, OperatingError } from "../../base/errors.ts";
import type { IndexState } from "../../catalog/index_catalog.ts";
import { stemmedColumns } from "../../derived/text_columns.ts";
import type { LoadedTable } from "../../iceberg/iceberg_reader.ts";
import { ALL_TIME, type TimeRange } from "../../iceberg/types.ts";
import { BUILT_IN_TABLES } from "../../schema/built_in_tables.ts";
import type { LaneId, TableIdent } from "../../tenant/tenant.ts";
import { unknownTable } from "../gate/refusals.ts";
import type { HotCall } from "../hot_caches/hot_call.ts";
import { planHotCall } from "../hot_caches/hot_plan.ts";
import { PLAN_ATTEMPTS_MAX } from "../limits.ts";
import { receivedPlan } from "../shards/received_plan.ts";
import type { FrozenTable, FrozenTables } from "../shards/shard.ts";
import { damagedForShard, shardRows } from "../shards/shard_rows.ts";
import { type CommittedPlan, committedRows, selectionOf } from "./committed_rows.ts";
import { tableOrder } from "./declared_order.ts";
import { completeness, seenMadeColumns } from "./made_columns.ts";
import type { TablePlan, TableVersion } from "./plan.ts";
import type { PlanRequest, PlanSource } from "./plan_request.ts";
import { projectedOf } from "./projection.ts";
import type { RemainingLease } from "./remaining_rows.ts";
import { readSnapshot, type TableSnapshot } from "./snapshot.ts";
import { pinned, type SnapshotPin } from "./snapshot_pin.ts";
import { seenSchema, storedSchema } from "./table_schema.ts";
import { leaseWalRows, lostRows } from "./wal_rows.ts";

/** The tables that a statement reads, with the WAL files that it uses. */
export interface PlannedTables {
  /** Their files are known; which parts are read is still open (`wholePlan`). */
  readonly tables: readonly TablePlan[];
  /** Converted WAL files in use; disposed when the statement is. */
  readonly leases: DisposableStack;
  /** The tables as they were found, for statements that read them once more. */
  readonly frozen: FrozenTables;
  /** Milliseconds of `nowMs` spent on the WAL. */
  readonly deltaMs: number;
}

/**
 * Plans the tables, one after the other. Errors: `invalid_argument` (`unknown_table`), the
 * catalog's, the store's, the deadline's.
 */
export async function planTables(
  source: PlanSource,
  request: PlanRequest,
  nowMs: () => number,
): Promise<PlannedTables> {
  const tables: TablePlan[] = [];
  const frozen = new Map<string, FrozenTable>();
  using leases = new DisposableStack();
  let deltaMs = 0;
  for (const name of request.tables) {
    request.deadline.check();
    const planned = await planTable(source, { request, name, nowMs });
    tables.push(planned.plan);
    leases.use(planned.lease);
    if (planned.found !== undefined) frozen.set(name, planned.found);
    deltaMs += planned.deltaMs;
  }
  return { tables, frozen, leases: leases.move(), deltaMs };
}

const MISSING_RETRY_SECS = 5;

interface TableRequest {
  readonly request: PlanRequest;
  readonly name: string;
  readonly nowMs: () => number;
}

interface PlannedTable {
  readonly plan: TablePlan;
  readonly lease: Disposable | undefined;
  /** Absent for a table that is not stored. */
  readonly found?: FrozenTable;
  readonly deltaMs: number;
}

/**
 * Plans a table. It starts over when what it had listed was drained, swept or rewritten meanwhile.
 */
async function planTable(source: PlanSource, table: TableRequest): Promise<PlannedTable> {
  for (let attempt = 1;; attempt += 1) {
    try {
      return await planOnce(source, table);
    } catch (error) {
      if (!isOperatingError(error, "not_found")) throw error;
      if (attempt === PLAN_ATTEMPTS_MAX) throw missing(error);
    }
  }
}

/**
 * Returns the error for what the catalog names and what is not there, again and again. It is not
 * the caller's doing.
 */
function missing(error: OperatingError): OperatingError {
  return new OperatingError(
    "unavailable",
    `${error.message}; the catalog names it: check that the server's --warehouse-url, or --warehouse, is where its ` +
      "tables were made, or restore the object",
    { reason: "storage_unavailable", retryAfterSecs: MISSING_RETRY_SECS, cause: error },
  );
}

async function planOnce(
  source: PlanSource,
  { request, name, nowMs }: TableRequest,
): Promise<PlannedTable> {
  const { received } = request;
  if (name === received?.name) {
    const plan = { ...receivedPlan(received), scans: request.scans.get(name) ?? 1 };
    return { plan, lease: undefined, deltaMs: 0 };
  }
  const call = request.hotCalls.get(name);
  if (call !== undefined) return await planCall(source, call, { request, nowMs });
  if (source.hidden.has(name)) throw await unknown(source, request, name);
  const { found, lease, deltaMs } = await findTable(source, { request, name, nowMs });
  using leases = new DisposableStack();
  leases.use(lease);
  const { remaining, plan } = await planFound(source, found, { request, name });
  leases.use(remaining);
  return { plan, lease: leases.move(), found, deltaMs };
}

/** What there is of a table, with a lease on its rows in the WAL. */
async function findTable(
  source: PlanSource,
  { request, name, nowMs }: TableRequest,
): Promise<Required<Pick<PlannedTable, "found">> & Pick<PlannedTable, "lease" | "deltaMs">> {
  const frozen = request.frozen?.get(name);
  if (frozen !== undefined) return { found: frozen, lease: undefined, deltaMs: 0 };
  const ident: TableIdent = { namespace: request.namespace, name };
  const lane: LaneId = { tenant: request.tenant, index: name };
  const { pin } = request;
  const snapshot = pin === undefined
    ? await readSnapshot(source, ident, lane)
    : await readPinned(source, ident, pin);
  // The state is read after the snapshot: what is dropped in between is gone as a whole, and never
  // half there.
  const state = BUILT_IN_TABLES.has(name) ? undefined : await source.catalog.indexState(ident);
  const table = { name, lane, snapshot, state };
  const startMs = nowMs();
  const lease = await leaseWalRows(source, table, request);
  const deltaMs = nowMs() - startMs;
  try {
    const lost = await lostRows(source, { table, request, lease });
    return { found: { snapshot, state, wal: lease, lost }, lease, deltaMs };
  } catch (error) {
    lease?.[Symbol.dispose]();
    throw error;
  }
}

async function planFound(
  source: PlanSource,
  found: FrozenTable,
  { request, name }: Pick<TableRequest, "request" | "name">,
): Promise<{ readonly plan: TablePlan; readonly remaining: RemainingLease | undefined }> {
  const { snapshot, state, lost } = found;
  const range = request.ranges.get(name) ?? ALL_TIME;
  const mapping = state?.index?.config.doc_mapping;
  const stored = storedSchema(name, found);
  if (stored === undefined) throw await unknown(source, request, name);
  const seen = seenSchema(stored);
  const { remaining, ...rows } = await rowsOf(source, found, { request, name, range });
  const plan: TablePlan = {
    name,
    ident: { namespace: request.namespace, name },
    schema: seen,
    stored,
    made: seenMadeColumns(seen, stored),
    isComplete: completeness(stored),
    stemmed: stemmedColumns(mapping),
    version: versionOf(snapshot.table),
    order: tableOrder(snapshot.table, mapping),
    range,
    ...rows,
    lost,
    parts: [],
    ordered: false,
    pruned: undefined,
    scans: request.scans.get(name) ?? 1,
    projected: [],
  };
  return { plan: { ...plan, projected: projectedOf(plan, request.named) }, remaining };
}

/** The rows that a request reads of a table: a shard's of the one that is cut, else all. */
async function rowsOf(
  source: PlanSource,
  { snapshot, wal }: FrozenTable,
  { request, name, range }: Pick<TableRequest, "request" | "name"> & { readonly range: TimeRange },
): Promise<CommittedPlan & Pick<TablePlan, "delta" | "counted" | "cuts">> {
  const { shard } = request;
  if (shard?.table === name) {
    const live = async (wanted: TimeRange) => (await selectionOf(source, snapshot, wanted)).files;
    const delta = shard.hasWalRows === true ? wal?.files ?? [] : [];
    return { ...await shardRows(shard, live), delta, remaining: undefined };
  }
  const committed = await committedRows(source, snapshot, { request, range });
  if (shard !== undefined && committed.lacking !== undefined) {
    committed.remaining?.[Symbol.dispose]();
    throw damagedForShard(committed.lacking);
  }
  const delta = [...committed.remaining?.files ?? [], ...wal?.files ?? []];
  return { ...committed, delta, counted: wal?.counted ?? [] };
}

async function planCall(
  source: PlanSource,
  call: HotCall,
  { request, nowMs }: Pick<TableRequest, "request" | "nowMs">,
): Promise<PlannedTable> {
  const { namespace } = request;
  if (request.pin !== undefined) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot call ${call.kind} at a snapshot: it reads the WAL; leave snapshot out`,
      { reason: "bad_hot_call" },
    );
  }
  if (source.hidden.has(call.table)) throw await unknown(source, request, call.table);
  const startMs = nowMs();
  const state = BUILT_IN_TABLES.has(call.table)
    ? undefined
    : await source.catalog.indexState({ namespace, name: call.table });
  const planned = await planHotCall(source.hot, call, {
    request: { ...request, signal: request.deadline.signal },
    state,
  });
  if (planned.plan.delta.length === 0 && !await isTable(source, planned.plan.ident, state)) {
    throw await unknown(source, request, call.table);
  }
  const { plan } = planned;
  const stemmed = call.kind === "last_values"
    ? stemmedColumns(state?.index?.config.doc_mapping)
    : plan.stemmed;
  const scans = request.scans.get(plan.name) ?? 1;
  return { ...planned, plan: { ...plan, stemmed, scans }, deltaMs: nowMs() - startMs };
}

/** Whether there is such a table, though the WAL has no row for it. */
async function isTable(
  { catalog }: PlanSource,
  ident: TableIdent,
  state: IndexState | undefined,
): Promise<boolean> {
  if (BUILT_IN_TABLES.has(ident.name) || state?.index !== undefined) return true;
  return await catalog.metadataLocation(ident) !== undefined;
}

/** Reads only what is committed, as `pin` has it. */
async function readPinned(
  source: PlanSource,
  ident: TableIdent,
  pin: SnapshotPin,
): Promise<TableSnapshot> {
  const location = await source.catalog.metadataLocation(ident);
  const table = location === undefined ? undefined : await source.tables.loadTable(ident, location);
  return {
    table: pinned(ident.name, table, pin),
    pending: [],
    complete: new Set(),
    consumed: new Set(),
  };
}

function versionOf(table: LoadedTable | undefined): TableVersion | undefined {
  if (table === undefined) return undefined;
  const { uuid, snapshotId, schemaId } = table;
  return { uuid, snapshotId, schemaId };
}

async function unknown(
  source: PlanSource,
  { namespace, placeOf }: PlanRequest,
  name: string,
): Promise<OperatingError> {
  const { indexes } = await source.catalog.indexView(namespace);
  const tables = await source.catalog.tables(namespace);
  const known = new Set([...BUILT_IN_TABLES.keys(), ...indexes.keys(), ...tables]);
  return unknownTable(name, {
    known: [...known].filter((one) => !source.hidden.has(one)).sort(),
    place: placeOf(name),
  });
}
