/**
 * Schema evolution: appends columns that may be null to a table, as one metadata commit without a
 * snapshot.
 */

import { assert } from "../base/assert.ts";
import type { Column, TableSchema } from "../schema/schema.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { type CommitDeps, commitTable, readerOf } from "./commit_table.ts";
import type { LoadedTable } from "./iceberg_reader.ts";
import { PROMOTED_PROPERTY, TAGS_PROPERTY } from "./new_table.ts";
import { nameMappingOf, schemaJsonOf } from "./schema_json.ts";
import { stageMetadata } from "./stage_snapshot.ts";
import type { TableMetadata } from "./table_metadata.ts";

/**
 * Gives the table the columns of `wanted` whose names it lacks, and its tags; returns the table as
 * it is then. One that is not there stays so: undefined. Errors: those of a commit.
 */
export async function addColumns(
  given: CommitDeps,
  ident: TableIdent,
  wanted: TableSchema,
): Promise<LoadedTable | undefined> {
  const deps = { ...given, reader: readerOf(given) };
  const { metadataLocation } = await commitTable(deps, ident, (table, staging) => {
    if (table === undefined) return undefined;
    const schema = widened(table.schema, wanted);
    if (schema === table.schema) return undefined;
    const next = withSchema(table.metadata, schema, Math.max(deps.clock.nowMs(), updatedMs(table)));
    const staged = stageMetadata(deps, { table, exists: true }, { next, staging });
    return { ...staged, snapshotId: 0n, consumed: [] };
  });
  return metadataLocation === "" ? undefined : await deps.reader.loadTable(ident, metadataLocation);
}

/** `schema` with what `wanted` has besides; itself when it lacks nothing. */
export function widened(schema: TableSchema, wanted: TableSchema): TableSchema {
  const names = new Set(schema.columns.map(({ name }) => name.toLowerCase()));
  const added = wanted.columns.filter(({ name }) => !names.has(name.toLowerCase()));
  const tags = [...new Set([...schema.tags, ...wanted.tags])];
  const before = schema.promoted ?? [];
  const promoted = [...new Set([...before, ...wanted.promoted ?? []])];
  const isSame = added.length === 0 && tags.length === schema.tags.length &&
    promoted.length === before.length;
  if (isSame) return schema;
  for (const column of added) assertFits(schema, column);
  const columns = [...schema.columns, ...added];
  return promoted.length === 0 ? { columns, tags } : { columns, tags, promoted };
}

function assertFits({ columns }: TableSchema, { id, name, required }: Column): void {
  assert(!required, `column ${name} is added to rows that lack it`);
  assert(columns.every((column) => column.id !== id), `column ${name} has an id of its own`);
}

/** `metadata` with `schema` as the current one. */
export function withSchema(
  metadata: TableMetadata,
  schema: TableSchema,
  nowMs: number,
): TableMetadata {
  const schemaId = Math.max(...metadata.schemas.map((one) => one["schema-id"])) + 1;
  const ids = schema.columns.map(({ id }) => id);
  return {
    ...metadata,
    "last-updated-ms": nowMs,
    "last-column-id": Math.max(metadata["last-column-id"], ...ids),
    schemas: [...metadata.schemas, schemaJsonOf(schema, schemaId)],
    "current-schema-id": schemaId,
    properties: {
      ...metadata.properties,
      "schema.name-mapping.default": nameMappingOf(schema),
      [TAGS_PROPERTY]: JSON.stringify(schema.tags),
      ...(schema.promoted === undefined
        ? {}
        : { [PROMOTED_PROPERTY]: JSON.stringify(schema.promoted) }),
    },
  };
}

function updatedMs({ metadata }: LoadedTable): number {
  return metadata["last-updated-ms"];
}
