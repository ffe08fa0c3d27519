/**
 * Brings tables up to the columns that this program writes, and promotes attributes:
 * docs/api/tables.md#schema-changes. Additive and idempotent: columns are appended, may be null,
 * and no file is touched. One metadata commit a table.
 */

import type { CatalogReader } from "../catalog/catalog.ts";
import { BUILT_IN_TABLES } from "../schema/built_in_tables.ts";
import { indexSchema } from "../schema/index_schema.ts";
import { ATTRIBUTES, withPromoted } from "../schema/promoted.ts";
import type { Column, TableSchema } from "../schema/schema.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { widened, withSchema } from "../iceberg/add_columns.ts";
import { type CommitDeps, commitTable, readerOf } from "../iceberg/commit_table.ts";
import type { LoadedTable } from "../iceberg/iceberg_reader.ts";
import { SCHEMA_VERSION, SCHEMA_VERSION_PROPERTY } from "../iceberg/new_table.ts";
import { stageMetadata } from "../iceberg/stage_snapshot.ts";
import { OperatingError } from "../base/errors.ts";

/** What brings a table up to this program's columns. */
export interface MigrationPlan {
  readonly ident: TableIdent;
  /** The version that the table records; undefined for a table that another program made. */
  readonly versionBefore: number | undefined;
  readonly version: number;
  readonly added: readonly Column[];
  /** Names of columns that are to hold attributes and did not. */
  readonly promoted: readonly string[];
  /** The columns afterwards; those of the table when nothing is to do. */
  readonly schema: TableSchema;
  readonly isChange: boolean;
}

/**
 * Pure but for the catalog's configuration. Errors: `invalid_argument` for a promotion that the
 * table cannot have.
 */
export async function planMigration(
  { catalog }: { readonly catalog: Pick<CatalogReader, "indexState"> },
  table: LoadedTable,
  promote: readonly Column[] = [],
): Promise<MigrationPlan> {
  const { schema, ident } = table;
  const target = await targetOf(catalog, table);
  const whole = target === undefined ? schema : widened(schema, optional(target));
  if (promote.length > 0 && !whole.columns.some(({ name }) => name === ATTRIBUTES)) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot promote an attribute of table ${ident.namespace}.${ident.name}: it has no column ${ATTRIBUTES}`,
    );
  }
  const after = withPromoted(whole, promote);
  const names = new Set(schema.columns.map(({ name }) => name));
  const before = new Set(schema.promoted);
  const versionBefore = versionOf(table);
  const version = Math.max(versionBefore ?? 0, SCHEMA_VERSION);
  const added = after.columns.filter(({ name }) => !names.has(name));
  const promoted = (after.promoted ?? []).filter((name) => !before.has(name));
  const isWider = added.length > 0 || promoted.length > 0 ||
    after.tags.length > schema.tags.length;
  return {
    ident,
    versionBefore,
    version,
    added,
    promoted,
    schema: isWider ? after : schema,
    isChange: isWider || version !== versionBefore,
  };
}

/**
 * Brings one table up to this program's columns. Returns what it did, undefined when there is no
 * such table. Two that run at once both end with the same table. Errors: those of `planMigration`
 * and of a commit.
 */
export async function applyMigration(
  given: CommitDeps,
  ident: TableIdent,
  promote: readonly Column[] = [],
): Promise<MigrationPlan | undefined> {
  const deps = { ...given, reader: readerOf(given) };
  let done: MigrationPlan | undefined;
  await commitTable(deps, ident, async (table, staging) => {
    done = undefined;
    if (table === undefined) return undefined;
    const plan = await planMigration(deps, table, promote);
    done = plan;
    if (!plan.isChange) return undefined;
    const { metadata, schema } = table;
    const nowMs = Math.max(deps.clock.nowMs(), metadata["last-updated-ms"]);
    const widenedMetadata = plan.schema === schema
      ? { ...metadata, "last-updated-ms": nowMs }
      : withSchema(metadata, plan.schema, nowMs);
    const properties = {
      ...widenedMetadata.properties,
      [SCHEMA_VERSION_PROPERTY]: String(plan.version),
    };
    const next = { ...widenedMetadata, properties };
    const staged = stageMetadata(deps, { table, exists: true }, { next, staging });
    return { ...staged, snapshotId: 0n, consumed: [] };
  });
  return done;
}

/** What the table should have; undefined: it is what its rows made it. */
async function targetOf(
  catalog: Pick<CatalogReader, "indexState">,
  { ident, schema }: LoadedTable,
): Promise<TableSchema | undefined> {
  const builtIn = BUILT_IN_TABLES.get(ident.name);
  if (builtIn !== undefined) return builtIn;
  const { index } = await catalog.indexState(ident);
  if (index !== undefined) return indexSchema(index.config.doc_mapping, schema);
  // A lane of any name may hold rows shaped like a built-in table's.
  return [...BUILT_IN_TABLES.values()].find((known) =>
    schema.columns.length > 0 &&
    schema.columns.every((column) =>
      known.columns.some(({ id, name, type }) =>
        id === column.id && name === column.name && type === column.type
      ) || schema.promoted?.includes(column.name) === true
    )
  );
}

/** Rows that are stored lack what is added. */
function optional({ columns, tags }: TableSchema): TableSchema {
  return { columns: columns.map((column) => ({ ...column, required: false })), tags };
}

function versionOf({ metadata }: LoadedTable): number | undefined {
  const text = metadata.properties[SCHEMA_VERSION_PROPERTY];
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
