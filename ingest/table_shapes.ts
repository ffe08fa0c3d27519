/**
 * What rows of each table must be, from the catalog: read at the start, then at intervals, so that
 * no request waits for it. Configurations are read often, the columns of tables, which another
 * program may have added, every few seconds.
 *
 * A table that the catalog does not know gets the mapping of the template for its name. Without a
 * template it has the columns of `events`. It is made so at its first drain. While the catalog does
 * not answer, what was read last stands. A row whose columns the table has left behind is fitted,
 * or set aside, by the drain.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, messageOf } from "../shared/base/errors.ts";
import type { CatalogReader } from "../shared/catalog/catalog.ts";
import {
  INDEX_VIEW_INTERVAL_MS,
  type IndexView,
  NO_INDEX_VIEW,
} from "../shared/catalog/index_catalog.ts";
import { BUILT_IN_TABLES } from "../shared/schema/built_in_tables.ts";
import { EVENTS_SCHEMA } from "../shared/schema/events.ts";
import type { DocMapping } from "../shared/schema/doc_mapping.ts";
import { indexSchema } from "../shared/schema/index_schema.ts";
import { templateFor } from "../shared/schema/index_template.ts";
import { seenColumns } from "../shared/schema/promoted.ts";
import type { TableSchema } from "../shared/schema/schema.ts";
import { EVENTS_SHAPE, type TableShape } from "../shared/schema/table_shape.ts";
import { type LaneId, namespaceOf } from "../shared/tenant/tenant.ts";
import type { Clock } from "../shared/os/clock.ts";

/** Shapes of names that only templates know: senders choose the names. */
const TEMPLATED_MAX = 1_000;

const COLUMNS_INTERVAL_MS = 5_000;

type ShapesCatalog = Pick<CatalogReader, "namespaces" | "tableSchemas" | "indexViews">;

/** A shape and what it was made from: made from the same, it is the same object. */
interface KnownShape {
  readonly text: string;
  readonly shape: TableShape;
}

interface Namespace {
  readonly shapes: ReadonlyMap<string, KnownShape>;
  readonly view: IndexView;
  /** The shapes by the text of `view.templates`, made when they are first asked for. */
  readonly templated: Map<string, TableShape>;
  readonly schemas: ReadonlyMap<string, TableSchema>;
  readonly templatesText: string;
}

export class TableShapes {
  readonly #catalog: ShapesCatalog;
  readonly #clock: Clock;
  readonly #stopping = new AbortController();
  #namespaces: ReadonlyMap<string, Namespace> = new Map();
  #columnsReadMs = -Infinity;
  #isFailing = false;
  #running: Promise<void> = Promise.resolve();

  constructor(catalog: ShapesCatalog, { clock }: { clock: Clock }) {
    this.#catalog = catalog;
    this.#clock = clock;
  }

  /** Reads once, then at intervals until `stop`. */
  async start(): Promise<void> {
    await this.#refresh();
    this.#running = this.#loop();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** The shape of the lane's rows: one object as long as nothing about it changes. */
  shapeOf(lane: LaneId): TableShape {
    const namespace = this.#namespaces.get(namespaceOf(lane.tenant));
    if (namespace === undefined) return EVENTS_SHAPE;
    return namespace.shapes.get(lane.index)?.shape ?? templated(namespace, lane.index);
  }

  /** Whether the catalog has a table, or a configuration, for `lane`. */
  has({ tenant, index }: LaneId): boolean {
    const namespace = this.#namespaces.get(namespaceOf(tenant));
    return namespace !== undefined &&
      (namespace.schemas.has(index) || namespace.view.indexes.has(index));
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#clock.sleep(INDEX_VIEW_INTERVAL_MS, { signal });
      } catch {
        return;
      }
      await this.#refresh();
    }
  }

  async #refresh(): Promise<void> {
    try {
      this.#namespaces = await this.#read();
      if (this.#isFailing) {
        getLogger(["svc", "ingest"]).info("the columns of tables are read again");
      }
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) {
        getLogger(["svc", "ingest"]).warn(
          "cannot read the columns of tables, those known before stand: {error}",
          { error: messageOf(error) },
        );
      }
      this.#isFailing = true;
    }
  }

  async #read(): Promise<ReadonlyMap<string, Namespace>> {
    const nowMs = this.#clock.monotonicMs();
    const readsColumns = nowMs - this.#columnsReadMs >= COLUMNS_INTERVAL_MS;
    const views = await this.#catalog.indexViews();
    const named = readsColumns ? await this.#catalog.namespaces() : this.#namespaces.keys();
    const namespaces = new Map<string, Namespace>();
    for (const name of new Set([...named, ...views.keys()])) {
      const before = this.#namespaces.get(name);
      const view = views.get(name) ?? NO_INDEX_VIEW;
      // A table that was dropped since has other columns, if any.
      const isKnown = before !== undefined && epochsText(before.view) === epochsText(view);
      const schemas = readsColumns || !isKnown
        ? await this.#catalog.tableSchemas(name)
        : before.schemas;
      const isSame = schemas === before?.schemas && viewText(view) === viewText(before.view);
      namespaces.set(name, isSame ? before : namespaceOfCatalog(schemas, view, before));
    }
    if (readsColumns) this.#columnsReadMs = nowMs;
    return namespaces;
  }
}

function namespaceOfCatalog(
  schemas: ReadonlyMap<string, TableSchema>,
  view: IndexView,
  before: Namespace | undefined,
): Namespace {
  const shapes = new Map<string, KnownShape>();
  for (const name of new Set([...schemas.keys(), ...view.indexes.keys()])) {
    if (BUILT_IN_TABLES.has(name) && schemas.get(name) === undefined) continue;
    const mapping = view.indexes.get(name)?.config.doc_mapping;
    const schema = schemas.get(name);
    const epoch = view.epochs.get(name)?.count ?? 0;
    const text = JSON.stringify([schema?.columns, schema?.promoted, mapping, epoch]);
    if (text === EVENTS_TEXT) continue;
    const known = before?.shapes.get(name);
    const shape = known?.text === text ? known.shape : shapeFrom(name, { schema, mapping, epoch });
    shapes.set(name, { text, shape });
  }
  const templatesText = JSON.stringify([view.templates, epochsText(view)]);
  const templated = before?.templatesText === templatesText ? before.templated : new Map();
  return { schemas, shapes, view, templated, templatesText };
}

/** Views of one text have the same configurations: an etag stands for one of them. */
function viewText(view: IndexView): string {
  const etags = [...view.indexes].map(([name, { etag }]) => [name, etag]);
  return JSON.stringify([etags, view.templates, epochsText(view)]);
}

function epochsText({ epochs }: IndexView): string {
  return JSON.stringify([...epochs]);
}

const EVENTS_TEXT = JSON.stringify([EVENTS_SCHEMA.columns, undefined, undefined, 0]);

interface ShapeParts {
  readonly schema: TableSchema | undefined;
  readonly mapping: DocMapping | undefined;
  readonly epoch: number;
}

function shapeFrom(
  name: string,
  { schema = EVENTS_SCHEMA, mapping, epoch }: ShapeParts,
): TableShape {
  const dated = epoch === 0 ? {} : { epoch };
  if (mapping === undefined) return rowsShape({ ...schema, ...dated });
  try {
    return rowsShape({ ...indexSchema(mapping, schema), ...dated }, mapping);
  } catch (error) {
    if (!isOperatingError(error)) throw error;
    // Another program altered the table: its columns win.
    getLogger(["svc", "ingest"]).warn("cannot map rows of {name} as configured: {error}", {
      name,
      error: error.message,
    });
    return rowsShape({ ...schema, ...dated });
  }
}

/** Promoted columns are not asked of rows, unless the mapping has fields of their names. */
function rowsShape(table: TableSchema, mapping?: DocMapping): TableShape {
  const { promoted = [], ...schema } = table;
  const fields = new Set(mapping?.field_mappings.map(({ name }) => name));
  const columns = table.columns.filter(({ name }) => fields.has(name) || !promoted.includes(name));
  const seen = seenColumns(table.columns);
  return {
    schema: { ...schema, columns },
    ...(seen.length > columns.length ? { withPromoted: { ...table, columns: seen } } : {}),
    ...(mapping === undefined ? {} : { mapping }),
  };
}

/** The shape of a table that is not there: by its template, and since it was last dropped. */
function templated({ view, templated: known }: Namespace, name: string): TableShape {
  let shape = known.get(name);
  if (shape === undefined) {
    const mapping = templateFor(view.templates, name)?.doc_mapping;
    const epoch = view.epochs.get(name)?.count ?? 0;
    const isPlain = BUILT_IN_TABLES.has(name) || (mapping === undefined && epoch === 0);
    shape = isPlain ? EVENTS_SHAPE : shapeFrom(name, { schema: undefined, mapping, epoch });
    if (known.size >= TEMPLATED_MAX) known.clear();
    known.set(name, shape);
  }
  return shape;
}
