/**
 * The rows that only the WAL has of one table of a statement: which of them are read, which of
 * their columns, and which of them cannot be read.
 */

import type { IndexState } from "../../catalog/index_catalog.ts";
import { stemmedColumns } from "../../derived/text_columns.ts";
import { ALL_TIME } from "../../iceberg/types.ts";
import { attributeOf, isUnasked, ownPromoted } from "../../schema/promoted.ts";
import type { Column, TableSchema } from "../../schema/schema.ts";
import type { LaneId } from "../../tenant/tenant.ts";
import { isEligible } from "../order/default_order.ts";
import type { OrderedRequest } from "../order/nearest_units.ts";
import { overColumns } from "../pruning/predicate.ts";
import type { FrozenTable } from "../shards/shard.ts";
import type { AppendedRows } from "../types.ts";
import { type TallyBy, tallyBy } from "./counted_by.ts";
import { tableOrder } from "./declared_order.ts";
import { frameSieve } from "./frame_sieve.ts";
import { neededColumns } from "./left_out.ts";
import { lostAside, type LostRows, sumOfLost } from "./lost_rows.ts";
import type { PlanRequest, PlanSource } from "./plan_request.ts";
import type { FrameTests } from "./sifted_frames.ts";
import type { TableSnapshot } from "./snapshot.ts";
import { soughtTraces } from "./sought_traces.ts";
import { storedSchema } from "./table_schema.ts";
import type { DeltaLease } from "./wal_delta.ts";
import type { DeltaColumns } from "./lane_request.ts";

/** A table as it was found, before its rows in the WAL are. */
interface TableBeforeWal extends Pick<FrozenTable, "snapshot" | "state"> {
  readonly name: string;
  readonly lane: LaneId;
}

/** Converts the rows that the request reads, or takes those that it brings. Errors: the WAL's. */
export async function leaseWalRows(
  { delta }: Pick<PlanSource, "delta">,
  table: TableBeforeWal,
  request: PlanRequest,
): Promise<DeltaLease | undefined> {
  const { name, lane, snapshot, state } = table;
  if (request.appended !== undefined) return leaseOfAppended(request.appended, state);
  if (delta === undefined) return undefined;
  delta.forget(lane, snapshot.consumed);
  const { pending, complete } = snapshot;
  if (pending.length === 0) return undefined;
  const schema = storedSchema(name, table);
  return await delta.lease(lane, pending, {
    complete,
    range: request.ranges.get(name) ?? ALL_TIME,
    nearest: nearestOf(request, table),
    countedBy: countedByOf(request, schema),
    ...columnsOf(request, snapshot, schema),
    frames: schema === undefined ? undefined : frameTests(request, table, schema),
    epoch: state?.epoch ?? 0,
    signal: request.deadline.signal,
  });
}

/** Rows of a table that was dropped since are nobody's. */
function leaseOfAppended(
  { file, columns, epoch }: AppendedRows,
  state: IndexState | undefined,
): DeltaLease {
  const files = epoch >= (state?.epoch ?? 0) ? [file] : [];
  return { files, counted: [], columns, lost: undefined, [Symbol.dispose]: () => {} };
}

/** The rows of the table that count, where its order of time is the statement's. */
function nearestOf(
  { nearest }: PlanRequest,
  { snapshot: { table }, state }: TableBeforeWal,
): OrderedRequest | undefined {
  if (nearest === undefined) return undefined;
  const order = tableOrder(table, state?.index?.config.doc_mapping);
  if (order.refusal !== undefined) return undefined;
  if (!nearest.isDefault) return nearest;
  return table !== undefined && isEligible({ order, schema: table.schema }) ? nearest : undefined;
}

/** Which columns the statement wants of the table's rows in the WAL. */
function columnsOf(
  request: PlanRequest,
  snapshot: TableSnapshot,
  schema: TableSchema | undefined,
): DeltaColumns {
  const promoted = promotedOf(request, snapshot);
  const columns = request.needed?.();
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

/** What the statement counts rows by, where it does nothing else. */
function countedByOf(
  { counted }: PlanRequest,
  schema: TableSchema | undefined,
): TallyBy | undefined {
  if (counted === undefined) return undefined;
  if (schema !== undefined) return tallyBy(counted, schema);
  const { columns, attributes, minutes } = counted;
  return columns.size + attributes.size > 0 || minutes ? undefined : { columns: [], minutes };
}

/**
 * What tells frames of the WAL with rows that the statement can need. A promoted column may be
 * filled from what JSON writes in another way, so no text of it is looked for.
 */
function frameTests(
  { predicates }: PlanRequest,
  { name, state }: TableBeforeWal,
  schema: TableSchema,
): FrameTests | undefined {
  const predicate = predicates.get(name);
  if (predicate === undefined) return undefined;
  const stemmed = stemmedColumns(state?.index?.config.doc_mapping);
  const sought = overColumns(predicate, { schema, stemmed });
  const promoted = new Set(schema.promoted);
  return {
    sieve: (columns) => frameSieve(sought, columns.filter((column) => !promoted.has(column.name))),
    traces: soughtTraces(sought, schema.columns) === undefined
      ? undefined
      : (columns) => soughtTraces(sought, columns),
  };
}

/**
 * Rows of the table that this reader cannot see. What was set aside is listed after the snapshot
 * was read: it is on record before the rest of its segment is committed.
 */
export async function lostRows(
  { wal }: Pick<PlanSource, "wal">,
  { table: { lane, snapshot, state }, request, lease }: {
    readonly table: TableBeforeWal;
    readonly request: PlanRequest;
    readonly lease: DeltaLease | undefined;
  },
): Promise<LostRows | undefined> {
  if (request.pin !== undefined || request.appended !== undefined) return lease?.lost;
  const setAside = await wal?.setAside?.(lane) ?? [];
  const { pending } = snapshot;
  return sumOfLost([lease?.lost, lostAside(setAside, { pending, epoch: state?.epoch ?? 0 })]);
}
