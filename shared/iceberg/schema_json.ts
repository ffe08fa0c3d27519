/** Our column model as an Iceberg schema in JSON, and back. */

import { z } from "zod";
import { OperatingError } from "../base/errors.ts";
import type { Column, ColumnType, TableSchema } from "../schema/schema.ts";

const FIELD = z.looseObject({
  id: z.int(),
  name: z.string(),
  required: z.boolean(),
  type: z.unknown(),
  doc: z.string().optional(),
});

/** Members this program does not know are kept, as another writer's. */
export const SCHEMA_JSON = z.looseObject({
  type: z.literal("struct"),
  "schema-id": z.int(),
  fields: z.array(FIELD),
});

export type SchemaJson = z.infer<typeof SCHEMA_JSON>;

const ICEBERG_TYPES: Readonly<Record<ColumnType, string>> = {
  timestamptz: "timestamptz",
  long: "long",
  int: "int",
  double: "double",
  bool: "boolean",
  string: "string",
};

const COLUMN_TYPES = new Map(
  Object.entries(ICEBERG_TYPES).map(([column, iceberg]) => [iceberg, column as ColumnType]),
);

/** The schema as Iceberg's table metadata has it. */
export function schemaJsonOf(schema: TableSchema, schemaId: number): SchemaJson {
  return {
    type: "struct",
    "schema-id": schemaId,
    fields: schema.columns.map((column) => ({
      id: column.id,
      name: column.name,
      required: column.required,
      type: ICEBERG_TYPES[column.type],
      ...(column.doc === undefined ? {} : { doc: column.doc }),
    })),
  };
}

/**
 * `tags` and `promoted` come from table properties. Errors: `unimplemented` for a type without a
 * column type.
 */
export function tableSchemaOf(
  json: SchemaJson,
  tags: readonly string[],
  promoted: readonly string[] = [],
): TableSchema {
  const columns = json.fields.map((field): Column => {
    const type = typeof field.type === "string" ? COLUMN_TYPES.get(field.type) : undefined;
    if (type === undefined) {
      throw new OperatingError(
        "unimplemented",
        `Cannot read column ${JSON.stringify(field.name)} of type ${JSON.stringify(field.type)}: ` +
          `known types are ${[...COLUMN_TYPES.keys()].join(", ")}.`,
      );
    }
    const { id, name, required, doc } = field;
    return { id, name, type, required, ...(doc === undefined ? {} : { doc }) };
  });
  const names = new Set(columns.map((column) => column.name));
  return {
    columns,
    tags: tags.filter((tag) => names.has(tag)),
    ...(promoted.length === 0 ? {} : { promoted }),
  };
}

/** The property `schema.name-mapping.default`: how a file without field ids is read. */
export function nameMappingOf(schema: TableSchema): string {
  return JSON.stringify(
    schema.columns.map((column) => ({ "field-id": column.id, names: [column.name] })),
  );
}
