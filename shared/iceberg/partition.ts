/** The one partitioning that this program reads and writes: day(timestamp). */

import { OperatingError } from "../base/errors.ts";
import { columnOf, type TableSchema } from "../schema/schema.ts";
import type { PartitionSpec } from "./table_metadata.ts";

export interface DayField {
  readonly sourceId: number;
  readonly fieldId: number;
  readonly name: string;
}

/** Errors: `unimplemented`, naming what the spec has instead of day(timestamp). */
export function dayFieldOf(spec: PartitionSpec, schema: TableSchema, table: string): DayField {
  const timestamp = columnOf(schema, "timestamp").id;
  const [field, ...others] = spec.fields;
  const strange = [field, ...others].find((candidate) =>
    candidate?.transform !== "day" || candidate["source-id"] !== timestamp
  );
  if (field !== undefined && strange === undefined && others.length === 0) {
    return { sourceId: timestamp, fieldId: field["field-id"], name: field.name };
  }
  const found = strange === undefined
    ? `${spec.fields.length} fields`
    : `field ${JSON.stringify(strange.name)} with ${strange.transform} of column ${
      strange["source-id"]
    }`;
  throw new OperatingError(
    "unimplemented",
    `Cannot use partition spec ${spec["spec-id"]} of table ${table}: it has ${found}, and only ` +
      `day(timestamp), column ${timestamp}, is known. Repartition the table by day(timestamp).`,
    { reason: "partition_transform" },
  );
}
