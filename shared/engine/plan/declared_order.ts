/**
 * The order that a table's metadata declares for its rows, and whether an ordered scan may rely on
 * it. Tables that this service made declare (`timestamp`, `timestamp_ns`) ascending; those of other
 * engines may declare anything.
 */

import type { LoadedTable } from "../../iceberg/iceberg_reader.ts";
import type { TableMetadata } from "../../iceberg/table_metadata.ts";
import { type DocMapping, TIMESTAMP_FIELD_DEFAULT } from "../../schema/doc_mapping.ts";
import type { TableSchema } from "../../schema/schema.ts";
import type { ScanOrdering } from "../types.ts";
import { NO_ORDER, type TableOrder } from "./plan.ts";

const TIME_COLUMNS = ["timestamp", "timestamp_ns"];

/** Returns the order of a table; of one without a commit, only whether it is that of time. */
export function tableOrder(
  table: LoadedTable | undefined,
  mapping: DocMapping | undefined,
): TableOrder {
  const timeField = mapping?.timestamp_field ?? TIMESTAMP_FIELD_DEFAULT;
  const isImplicit = timeField === TIMESTAMP_FIELD_DEFAULT;
  if (table === undefined) return { ...NO_ORDER, isImplicit };
  const refusal = orderRefusal(table.metadata, table.schema);
  return { id: table.sortOrderId, refusal, isImplicit };
}

/**
 * Returns undefined when the rows are declared to be in order of time. Otherwise it returns why
 * they are not, in the words of docs/api/query.md#stats.
 */
function orderRefusal(
  metadata: Pick<TableMetadata, "sort-orders" | "default-sort-order-id">,
  schema: TableSchema,
): ScanOrdering | undefined {
  const id = metadata["default-sort-order-id"];
  const order = metadata["sort-orders"].find((one) => one["order-id"] === id);
  if (order === undefined) return id === UNSORTED ? "no_sort_order" : "unknown_sort_order";
  if (order.fields.length === 0) return "no_sort_order";
  if (order.fields.some((field) => field.transform !== "identity")) return "non_identity_sort";
  const names = order.fields.map((field) =>
    schema.columns.find((column) => column.id === field["source-id"])?.name
  );
  if (names.includes(undefined)) return "missing_sort_field";
  if (names[0] !== TIME_COLUMNS[0]) return "non_timestamp_sort";
  const directions = new Set(order.fields.map((field) => field.direction));
  if (directions.size > 1 || !directions.has("asc")) return "mixed_sort_direction";
  return names[1] === TIME_COLUMNS[1] ? undefined : "missing_sort_column";
}

/** Iceberg reserves this id for "no order". */
const UNSORTED = 0;
