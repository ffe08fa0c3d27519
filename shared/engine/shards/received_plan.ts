/** The plan of a table of rows that other servers sent. */

import type { Column, ColumnType } from "../../schema/schema.ts";
import type { TablePlan } from "../plan/plan.ts";
import { rowsPlan } from "../plan/rows_plan.ts";
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
  return {
    ...rowsPlan({
      name: table.name,
      ident: { namespace: "", name: table.name },
      schema: { columns, tags: [] },
      delta: table.files.map((file) => ({ ...file, ...NO_BOUNDS })),
      projected: columns,
    }),
    received: table,
  };
}

/** Every row of a received file is read. */
const NO_BOUNDS = {
  columnSizes: new Map(),
  lowerBounds: new Map(),
  upperBounds: new Map(),
  complete: new Set<number>(),
  filled: new Set<number>(),
  timestampNsMin: 0n,
  timestampNsMax: 0n,
};
