/** The plan of a table of rows that other servers sent. */

import { ALL_TIME } from "../../iceberg/types.ts";
import type { Column, ColumnType } from "../../schema/schema.ts";
import type { TablePlan } from "../plan/plan.ts";
import type { ReceivedTable } from "./shard.ts";

const TYPES: Readonly<Record<string, ColumnType>> = {
  "TIMESTAMP WITH TIME ZONE": "timestamptz",
  BIGINT: "long",
  INTEGER: "int",
  DOUBLE: "double",
  BOOLEAN: "bool",
  VARCHAR: "string",
};

/** Columns of other types than stored ones have are known to DuckDB alone. */
export function receivedPlan(table: ReceivedTable): TablePlan {
  const columns = table.columns.flatMap(({ name, type }, at): Column[] => {
    const own = TYPES[type];
    return own === undefined ? [] : [{ id: at + 1, name, type: own, required: false }];
  });
  const schema = { columns, tags: [] };
  return {
    name: table.name,
    ident: { namespace: "", name: table.name },
    schema,
    stored: schema,
    made: new Map(),
    isComplete: () => false,
    stemmed: new Set(),
    version: undefined,
    order: { id: 0, refusal: "no_sort_order", isImplicit: false },
    range: ALL_TIME,
    committed: { kind: "none" },
    considered: 0,
    files: [],
    delta: table.files.map((file) => ({
      ...file,
      columnSizes: new Map(),
      lowerBounds: new Map(),
      upperBounds: new Map(),
      timestampNsMin: 0n,
      timestampNsMax: 0n,
    })),
    parts: [],
    ordered: false,
    pruned: undefined,
    scans: 1,
    projected: columns,
    received: table,
  };
}
