/**
 * What the catalog says of a lane's table: how it is mapped, and since which epoch its rows count.
 */

import type { Catalog } from "../catalog/catalog.ts";
import type { IndexCatalog } from "../catalog/index_catalog.ts";
import { BUILT_IN_TABLES } from "../schema/built_in_tables.ts";
import type { DocMapping, IndexConfig } from "../schema/doc_mapping.ts";
import { indexSchema } from "../schema/index_schema.ts";
import { configOf, templateFor } from "../schema/index_template.ts";
import type { Column, TableSchema } from "../schema/schema.ts";
import { type LaneId, tableOf } from "../tenant/tenant.ts";
import { type Random, uuidV4 } from "../os/random.ts";

/** How the catalog wants a lane's rows. */
export interface TableTarget {
  /** Rows that were written in an earlier one belong to what was dropped. */
  readonly epoch: number;
  /** undefined: nobody configured the table, it is what its rows are. */
  readonly mapping: DocMapping | undefined;
  /** Whether words are indexed as soon as rows become files. */
  readonly indexAtFlush: boolean;
}

export interface TargetDeps {
  readonly catalog: Pick<Catalog, "indexView" | "indexState">;
  /** Where an index that a template makes is recorded; without it no template is applied. */
  readonly indexes?: Pick<IndexCatalog, "create">;
  readonly random: Random;
}

const BUILT_IN: TableTarget = { epoch: 0, mapping: undefined, indexAtFlush: true };

/**
 * A table that is not there and that a template is for gets its configuration here. Errors: the
 * catalog's.
 */
export async function tableTarget(deps: TargetDeps, lane: LaneId): Promise<TableTarget> {
  const { namespace, name } = tableOf(lane);
  if (BUILT_IN_TABLES.has(name)) return BUILT_IN;
  const { index, epoch } = await deps.catalog.indexState({ namespace, name });
  if (index !== undefined) return targetOf(epoch, index.config);
  if (deps.indexes === undefined) return targetOf(epoch);
  const { templates } = await deps.catalog.indexView(namespace);
  const template = templateFor(templates, name);
  if (template === undefined) return targetOf(epoch);
  const config = configOf(template, name);
  // `exists`: rows made the table before there was a template, or somebody configures it now.
  const made = await deps.indexes.create(namespace, { config, etag: uuidV4(deps.random) });
  return made === "created" ? targetOf(epoch, config) : targetOf(epoch);
}

function targetOf(epoch: number, config?: IndexConfig): TableTarget {
  return { epoch, mapping: config?.doc_mapping, indexAtFlush: config?.index_at_flush ?? true };
}

/** How often the lane's table was dropped. Errors: the catalog's. */
export async function epochOf(
  catalog: TargetDeps["catalog"],
  lane: LaneId,
): Promise<number> {
  const ident = tableOf(lane);
  return BUILT_IN_TABLES.has(ident.name) ? 0 : (await catalog.indexState(ident)).epoch;
}

/** The columns of a table with that mapping that takes rows with `columns` as well. */
export function targetSchema(mapping: DocMapping, columns: readonly Column[]): TableSchema {
  const schema = indexSchema(mapping);
  const names = new Set(schema.columns.map(({ name }) => name.toLowerCase()));
  const further = columns.filter(({ name }) => !names.has(name.toLowerCase()));
  return { ...schema, columns: [...schema.columns, ...further] };
}
