/**
 * Plans the tables of one statement: names to snapshots, time ranges to files, what is left of the
 * WAL.
 */

import { isOperatingError, OperatingError } from "../../base/errors.ts";
import type { IndexState } from "../../catalog/index_catalog.ts";
import { stemmedColumns } from "../../derived/text_columns.ts";
import { BUILT_IN_TABLES } from "../../schema/built_in_tables.ts";
import { type DocMapping, TIMESTAMP_FIELD_DEFAULT } from "../../schema/doc_mapping.ts";
import { fieldIdOf, indexSchema } from "../../schema/index_schema.ts";
import { attributeOf, isUnasked, promotedPlaces, seenColumns } from "../../schema/promoted.ts";
import type { Column, TableSchema } from "../../schema/schema.ts";
import type { LaneId, TableIdent } from "../../tenant/tenant.ts";
import type { LoadedTable } from "../../iceberg/iceberg_reader.ts";
import { rangeFilter } from "../../iceberg/prune.ts";
import { filesSince } from "../../iceberg/table_history.ts";
import type { TouchedFile } from "../../iceberg/touched_files.ts";
import { ALL_TIME, type SelectedFiles, type TimeRange } from "../../iceberg/types.ts";
import type { DamagedFiles } from "../files/damaged_files.ts";
import type { HotCall } from "../hot_caches/hot_call.ts";
import { type HotSource, planHotCall } from "../hot_caches/hot_plan.ts";
import { isEligible } from "../order/default_order.ts";
import type { NearestHint } from "../order/nearest_hint.ts";
import type { OrderedRequest } from "../order/nearest_units.ts";
import { overColumns, type Predicate } from "../pruning/predicate.ts";
import type { Deadline } from "../turns/deadline.ts";
import { orderRefusal } from "./declared_order.ts";
import { unknownTable } from "../gate/gate.ts";
import { PLAN_ATTEMPTS_MAX } from "../limits.ts";
import { lostAside, type LostRows, sumOfLost } from "./lost_rows.ts";
import { neededColumns } from "./left_out.ts";
import { frameSieve } from "./frame_sieve.ts";
import { completeness, seenMadeColumns } from "./made_columns.ts";
import { NO_ORDER, type TableOrder, type TablePlan, type TableVersion } from "./plan.ts";
import { projectedOf } from "./projection.ts";
import type { RemainingLease, RemainingRows } from "./remaining_rows.ts";
import { readSnapshot, type SnapshotSource, type TableSnapshot } from "./snapshot.ts";
import { pinned, type SnapshotPin } from "./snapshot_pin.ts";
import { receivedPlan } from "../shards/received_plan.ts";
import type { FrozenTable, FrozenTables, ReceivedTable, Shard } from "../shards/shard.ts";
import { damagedForShard, shardRows } from "../shards/shard_rows.ts";
import type { AppendedRows } from "../types.ts";
import type { WantedFrames } from "./sifted_frames.ts";
import type { DeltaColumns, DeltaLease, WalDelta } from "./wal_delta.ts";

/** Where planning finds tables and their rows. */
export interface PlanSource extends SnapshotSource {
  readonly delta: WalDelta | undefined;
  readonly damaged: DamagedFiles;
  /** Files from which another engine deleted rows. */
  readonly remaining: Pick<RemainingRows, "lease">;
  /** undefined: hot caches are off. */
  readonly hot: HotSource | undefined;
  /** Names that no statement may know: for it there is no such table, in any namespace. */
  readonly hidden: ReadonlySet<string>;
}

/** What one statement wants of its tables. */
export interface PlanRequest {
  readonly namespace: string;
  readonly tenant: string;
  /** Lower-cased names, each once. */
  readonly tables: readonly string[];
  /** Where the statement names one of them first, for messages. */
  readonly placeOf: (table: string) => string;
  /** How often the statement reads each table. */
  readonly scans: ReadonlyMap<string, number>;
  /** The calls among `tables`. */
  readonly hotCalls: ReadonlyMap<string, HotCall>;
  readonly ranges: ReadonlyMap<string, TimeRange>;
  /** By table; one that is not among them has no condition. */
  readonly predicates: ReadonlyMap<string, Predicate>;
  /** Set where only the newest or oldest rows of the one table count. */
  readonly nearest: NearestHint | undefined;
  /** Whether it asks for nothing but the number of rows in its range. */
  readonly countsOnly: boolean;
  /** Column names the statement mentions, in lower case; undefined is all. */
  readonly named: ReadonlySet<string> | undefined;
  /** Attributes that the statement names by a call. */
  readonly attributes: () => ReadonlySet<string>;
  /**
   * The names of `named` without those that just these calls look into. Absent: rows of the WAL are
   * wanted with all their columns.
   */
  readonly needed: (() => ReadonlySet<string> | undefined) | undefined;
  readonly deadline: Deadline;
  /** Snapshots to read, without the WAL; undefined: the newest rows there are. */
  readonly pin: SnapshotPin | undefined;
  /** Snapshot whose files are left out, where the rest is all that came since. */
  readonly since: bigint | undefined;
  /** Whether committed rows are left out. */
  readonly uncommittedOnly: boolean;
  /** Rows that are read in place of the WAL's and of the committed ones. */
  readonly appended: AppendedRows | undefined;
  /** Which rows of one of the tables are read; undefined: all. */
  readonly shard: Shard | undefined;
  /** Tables that were found already; undefined: none. */
  readonly frozen: FrozenTables | undefined;
  /** One of the tables is of rows that other servers sent. */
  readonly received: ReceivedTable | undefined;
}

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
  const { pin, appended } = request;
  const snapshot = pin === undefined
    ? await readSnapshot(source, ident, lane)
    : await readPinned(source, ident, pin);
  // The state is read after the snapshot: what is dropped in between is gone as a whole, and never
  // half there.
  const state = BUILT_IN_TABLES.has(name) ? undefined : await source.catalog.indexState(ident);
  const startMs = nowMs();
  const lease = appended !== undefined ? leaseOfAppended(appended, state) : await leaseOf(source, {
    lane,
    snapshot,
    range: request.ranges.get(name) ?? ALL_TIME,
    nearest: nearestOf(request, snapshot.table, state?.index?.config.doc_mapping),
    countsOnly: request.countsOnly,
    columns: () => columnsOf(request, snapshot, state),
    sieve: () => sieveOf(request, name, { table: snapshot.table, state }),
    epoch: state?.epoch ?? 0,
    signal: request.deadline.signal,
  });
  const deltaMs = nowMs() - startMs;
  try {
    const lost = await lostOf(source, { lane, snapshot, state, request }, lease);
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
  const { snapshot, state, wal, lost } = found;
  const range = request.ranges.get(name) ?? ALL_TIME;
  const mapping = state?.index?.config.doc_mapping;
  const stored = mappedSchema(mapping, snapshot.table?.schema ?? schemaWithoutTable(name, wal));
  if (stored === undefined) throw await unknown(source, request, name);
  const seen = seenOf(stored);
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
    order: orderOf(snapshot.table, mapping),
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

function orderOf(table: LoadedTable | undefined, mapping: DocMapping | undefined): TableOrder {
  const timeField = mapping?.timestamp_field ?? TIMESTAMP_FIELD_DEFAULT;
  const isImplicit = timeField === TIMESTAMP_FIELD_DEFAULT;
  if (table === undefined) return { ...NO_ORDER, isImplicit };
  const refusal = orderRefusal(table.metadata, table.schema);
  return { id: table.sortOrderId, refusal, isImplicit };
}

/** Rows of a table that was dropped since are nobody's. */
function leaseOfAppended(
  { file, columns, epoch }: AppendedRows,
  state: IndexState | undefined,
): DeltaLease {
  const files = epoch >= (state?.epoch ?? 0) ? [file] : [];
  return { files, counted: [], columns, lost: undefined, [Symbol.dispose]: () => {} };
}

async function leaseOf(
  { delta }: PlanSource,
  { lane, snapshot, columns, sieve, ...wanted }: {
    readonly lane: LaneId;
    readonly snapshot: TableSnapshot;
    readonly range: TimeRange;
    readonly nearest: OrderedRequest | undefined;
    readonly countsOnly: boolean;
    readonly columns: () => DeltaColumns;
    readonly sieve: () => WantedFrames["sieve"] | undefined;
    readonly epoch: number;
    readonly signal: AbortSignal;
  },
): Promise<DeltaLease | undefined> {
  if (delta === undefined) return undefined;
  delta.forget(lane, snapshot.consumed);
  const { pending, complete } = snapshot;
  if (pending.length === 0) return undefined;
  return await delta.lease(lane, pending, { ...wanted, complete, ...columns(), sieve: sieve() });
}

/**
 * What tells frames of the WAL with rows that the statement can need. A promoted column may be
 * filled from what JSON writes in another way, so no text of it is looked for.
 */
function sieveOf(
  { predicates }: PlanRequest,
  name: string,
  { table, state }: Pick<TableSnapshot, "table"> & { readonly state: IndexState | undefined },
): WantedFrames["sieve"] | undefined {
  const predicate = predicates.get(name);
  if (predicate === undefined) return undefined;
  const mapping = state?.index?.config.doc_mapping;
  const schema = mappedSchema(mapping, table?.schema ?? BUILT_IN_TABLES.get(name));
  if (schema === undefined) return undefined;
  const sought = overColumns(predicate, { schema, stemmed: stemmedColumns(mapping) });
  const promoted = new Set(schema.promoted);
  return (columns) => frameSieve(sought, columns.filter((column) => !promoted.has(column.name)));
}

/** Which columns the statement wants of the table's rows in the WAL. */
function columnsOf(
  request: PlanRequest,
  snapshot: TableSnapshot,
  state: IndexState | undefined,
): DeltaColumns {
  const promoted = promotedOf(request, snapshot);
  const columns = request.needed?.();
  const schema = mappedSchema(state?.index?.config.doc_mapping, snapshot.table?.schema);
  if (columns === undefined || schema === undefined) return { promoted, needed: undefined };
  const attributes = request.attributes();
  const needed = neededColumns(schema, { columns, attributes, promoted });
  const others = promoted.length === 0 ? [] : ownPromoted(schema).slice(0, OTHERS_MAX);
  return { promoted: [...new Set([...promoted, ...others])], needed };
}

/**
 * Who asks for an attribute asks for others next. So many columns, the most frequent first, are
 * filled at once: a sixth of a microsecond each and row, and converting a row again takes four.
 */
const OTHERS_MAX = 16;

/** The promoted columns of the table that the statement reads. */
function promotedOf(
  { named, attributes }: PlanRequest,
  { table }: TableSnapshot,
): readonly Column[] {
  if (table?.schema.promoted === undefined) return [];
  const called = attributes();
  return ownPromoted(table.schema).filter(({ name }) =>
    called.has(attributeOf(name)) || !isUnasked(name) && named?.has(name.toLowerCase()) !== false
  );
}

/** Promoted columns, but for those that another program made under the name of one. */
function ownPromoted(schema: TableSchema): readonly Column[] {
  return promotedPlaces(schema).map(({ column }) => column)
    .filter(({ id, name }) => id === fieldIdOf(name));
}

/** The rows of the table that count, where its order of time is the statement's. */
function nearestOf(
  { nearest }: PlanRequest,
  table: LoadedTable | undefined,
  mapping: DocMapping | undefined,
): OrderedRequest | undefined {
  if (nearest === undefined) return undefined;
  const order = orderOf(table, mapping);
  if (order.refusal !== undefined) return undefined;
  if (!nearest.isDefault) return nearest;
  return table !== undefined && isEligible({ order, schema: table.schema }) ? nearest : undefined;
}

/**
 * Rows that this reader cannot see. What was set aside is listed after the snapshot was read: it is
 * on record before the rest of its segment is committed.
 */
async function lostOf(
  { wal }: PlanSource,
  { lane, snapshot, state, request }: {
    readonly lane: LaneId;
    readonly snapshot: TableSnapshot;
    readonly state: IndexState | undefined;
    readonly request: PlanRequest;
  },
  lease: DeltaLease | undefined,
): Promise<LostRows | undefined> {
  if (request.pin !== undefined || request.appended !== undefined) return lease?.lost;
  const setAside = await wal?.setAside?.(lane) ?? [];
  const { pending } = snapshot;
  return sumOfLost([lease?.lost, lostAside(setAside, { pending, epoch: state?.epoch ?? 0 })]);
}

const NO_FILES: SelectedFiles = { files: [], considered: 0 };
const NOTHING_SELECTED = { ...NO_FILES, touched: [] } as const;

async function selectionOf(
  source: PlanSource,
  { table }: TableSnapshot,
  range: TimeRange,
): Promise<SelectedFiles & { readonly touched: readonly TouchedFile[] }> {
  if (table === undefined) return NOTHING_SELECTED;
  return await source.tables.selectWithDeletes(table, range);
}

interface CommittedPlan extends Pick<TablePlan, "committed" | "files" | "considered" | "lacking"> {
  readonly remaining: RemainingLease | undefined;
}

/** Which committed rows of a snapshot the request reads, and in which files they are. */
async function committedRows(
  source: PlanSource,
  snapshot: TableSnapshot,
  { request, range }: { readonly request: PlanRequest; readonly range: TimeRange },
): Promise<CommittedPlan> {
  const { since, uncommittedOnly } = request;
  const remaining = undefined;
  const newer = since === undefined
    ? undefined
    : await selectionSince(source, snapshot, { since, range });
  if (since !== undefined && newer !== undefined) {
    const selection = intact(source, uncommittedOnly ? NO_FILES : newer);
    return { committed: { kind: "since", snapshotId: since }, ...selection, remaining };
  }
  if (uncommittedOnly) return { committed: { kind: "none" }, ...NO_FILES, remaining };
  const filesIn = async (wanted: TimeRange) =>
    intact(source, await selectionOf(source, snapshot, wanted)).files;
  const { touched, ...selected } = await selectionOf(source, snapshot, range);
  const selection = intact(source, selected);
  const { table } = snapshot;
  if (touched.length === 0 || table === undefined) {
    return { committed: { kind: "all", filesIn }, ...selection, remaining };
  }
  return {
    committed: { kind: "most", filesIn },
    ...selection,
    remaining: await source.remaining.lease(table, touched, request.deadline.signal),
  };
}

/** A selection without the files, damaged or gone, that statements leave out. */
function intact(
  { damaged }: PlanSource,
  selection: SelectedFiles,
): SelectedFiles & Pick<TablePlan, "lacking"> {
  const { files, leftOut } = damaged.without(selection.files);
  if (leftOut.length === 0) return selection;
  const lacking = leftOut.map((key) => `the data file ${key} is damaged or gone and was left out`);
  return { ...selection, files, lacking };
}

/** Selects the files that came after a snapshot; undefined: all files are to be read. */
async function selectionSince(
  { tables }: PlanSource,
  { table }: TableSnapshot,
  { since, range }: { readonly since: bigint; readonly range: TimeRange },
): Promise<SelectedFiles | undefined> {
  if (table === undefined) return undefined;
  const files = await filesSince(tables, table, since);
  if (files === undefined) return undefined;
  return { files: files.filter(rangeFilter(range).file), considered: files.length };
}

/**
 * Returns the columns of a table before its first commit: a built-in table's own, or those of its
 * WAL segments.
 */
function schemaWithoutTable(name: string, wal: FrozenTable["wal"]): TableSchema | undefined {
  const builtIn = BUILT_IN_TABLES.get(name);
  if (builtIn !== undefined) return builtIn;
  return wal?.columns === undefined ? undefined : { columns: wal.columns, tags: [] };
}

/** A configured field is a column before a row has filled it. */
function mappedSchema(
  mapping: DocMapping | undefined,
  schema: TableSchema | undefined,
): TableSchema | undefined {
  return mapping === undefined ? schema : indexSchema(mapping, schema);
}

function seenOf(schema: TableSchema): TableSchema {
  const columns = seenColumns(schema.columns);
  return columns === schema.columns ? schema : { ...schema, columns };
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
