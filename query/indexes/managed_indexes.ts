/**
 * What the index routes do: they read and change the configurations of one namespace's indexes.
 * Each change is conditional in the catalog.
 *
 * A table that rows made without anybody configuring it is an index, too: its mode is `dynamic` and
 * its only field is the time. The service's own tables are no indexes.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import type { CatalogReader } from "../../shared/catalog/catalog.ts";
import {
  INDEX_VIEW_INTERVAL_MS,
  type IndexCatalog,
  type ManagedIndex,
} from "../../shared/catalog/index_catalog.ts";
import { BUILT_IN_TABLES } from "../../shared/schema/built_in_tables.ts";
import { type IndexConfig, TIMESTAMP_FIELD_DEFAULT } from "../../shared/schema/doc_mapping.ts";
import { checkIndexId } from "../../shared/schema/index_config.ts";
import { checkUpdate, indexSchema } from "../../shared/schema/index_schema.ts";
import type { IndexTemplate } from "../../shared/schema/index_template.ts";
import type { Clock } from "../../shared/os/clock.ts";
import { type Random, uuidV4 } from "../../shared/os/random.ts";
import { templateEtag } from "./template_etag.ts";

/** By then each ingest server that reads at that interval has read. */
const HEARD_MS = INDEX_VIEW_INTERVAL_MS + 250;
const REPLACE_ATTEMPTS_MAX = 5;
/** Tag of a table that nobody configured: there is nothing in it that a client could change. */
const UNCONFIGURED_ETAG = "unconfigured";

/** Catalog and clock of the index routes. */
export interface ManagedIndexesDeps {
  readonly catalog: Pick<
    CatalogReader,
    "indexView" | "tables" | "tableSchemas" | "metadataLocation"
  >;
  /** Opens the catalog for writing with the first change. */
  readonly writer: () => Promise<IndexCatalog>;
  readonly clock: Clock;
  readonly random: Random;
}

/** Whether a tag is one that the client has seen. */
export type TagCondition = (etag: string) => boolean;

/** Indexes and templates of a namespace. Errors of all methods: `unavailable`, `corrupt`. */
export class ManagedIndexes {
  readonly #deps: ManagedIndexesDeps;

  constructor(deps: ManagedIndexesDeps) {
    this.#deps = deps;
  }

  /** All indexes, sorted by id. */
  async list(namespace: string): Promise<IndexConfig[]> {
    const { catalog } = this.#deps;
    const { indexes } = await catalog.indexView(namespace);
    const unconfigured = (await catalog.tables(namespace)).filter((name) =>
      !indexes.has(name) && !BUILT_IN_TABLES.has(name)
    );
    return [
      ...[...indexes.values()].map(({ config }) => config),
      ...unconfigured.map(unconfiguredIndex),
    ].sort((a, b) => a.index_id < b.index_id ? -1 : 1);
  }

  /** One index. Errors: `not_found`. */
  async get(namespace: string, id: string): Promise<ManagedIndex> {
    const found = await this.#find(namespace, id);
    if (found === undefined) throw unknownIndex(id);
    return found;
  }

  /**
   * Makes an index. Returns when ingest servers map rows as it says, and have forgotten one of that
   * id that was dropped just before. Errors: `conflict` (`index_exists`); `invalid_argument`.
   */
  async create(namespace: string, config: IndexConfig): Promise<ManagedIndex> {
    const { catalog, clock, random } = this.#deps;
    indexSchema(config.doc_mapping); // Refuses what no table can have.
    const { epochs } = await catalog.indexView(namespace);
    const droppedMs = epochs.get(config.index_id)?.droppedMs ?? 0;
    const waitMs = Math.min(HEARD_MS, droppedMs + HEARD_MS - clock.nowMs());
    if (waitMs > 0) await clock.sleep(waitMs);
    const index = { config, etag: uuidV4(random) };
    const writer = await this.#deps.writer();
    if (await writer.create(namespace, index) === "created") {
      await clock.sleep(HEARD_MS);
      return index;
    }
    throw new OperatingError(
      "conflict",
      `Cannot create index ${config.index_id}: there is one; change it with ` +
        `PUT /api/v1/indexes/${config.index_id}, or delete it first`,
      { reason: "index_exists" },
    );
  }

  /**
   * Changes an index. Returns when ingest servers map rows as it says. Errors: `not_found`;
   * `precondition_failed` when `condition` does not hold; `invalid_argument` (`not_additive`);
   * `conflict` while others keep changing it.
   */
  async replace(
    namespace: string,
    config: IndexConfig,
    condition: TagCondition,
  ): Promise<ManagedIndex> {
    const id = config.index_id;
    for (let attempt = 0; attempt < REPLACE_ATTEMPTS_MAX; attempt += 1) {
      const before = await this.get(namespace, id);
      if (!condition(before.etag)) throw changedMeanwhile(`index ${id}`);
      await this.#checkUpdate(namespace, before, config);
      const index = { config, etag: uuidV4(this.#deps.random) };
      const expected = before.etag === UNCONFIGURED_ETAG ? undefined : before.etag;
      const writer = await this.#deps.writer();
      if (await writer.replace(namespace, index, expected) === "replaced") {
        await this.#deps.clock.sleep(HEARD_MS);
        return index;
      }
    }
    throw contention(`index ${id}`);
  }

  /**
   * Drops an index. Its rows are gone at once, its files hours later. Returns when ingest servers
   * have heard of it, so that no row which arrives after that counts as one of the dropped index.
   * Errors: `not_found`; `invalid_argument`.
   */
  async drop(namespace: string, id: string): Promise<void> {
    if (BUILT_IN_TABLES.has(id)) checkIndexId(id);
    const writer = await this.#deps.writer();
    const ident = { namespace, name: id };
    const { clock } = this.#deps;
    if (!await writer.drop(ident, { nowMs: clock.nowMs() })) throw unknownIndex(id);
    await clock.sleep(HEARD_MS);
  }

  /** All templates, sorted by id. */
  async templates(namespace: string): Promise<IndexTemplate[]> {
    const { templates } = await this.#deps.catalog.indexView(namespace);
    return templates.toSorted((a, b) => a.template_id < b.template_id ? -1 : 1);
  }

  /** One template. Errors: `not_found`. */
  async template(namespace: string, id: string): Promise<IndexTemplate> {
    const found = (await this.templates(namespace)).find(({ template_id }) => template_id === id);
    if (found === undefined) throw unknownTemplate(id);
    return found;
  }

  /**
   * Makes or replaces a template. Returns when ingest servers apply it. Errors: `invalid_argument`;
   * `precondition_failed` when there is none for which `condition` holds; `conflict` while others
   * keep changing it.
   */
  async putTemplate(
    namespace: string,
    template: IndexTemplate,
    condition?: TagCondition,
  ): Promise<void> {
    indexSchema(template.doc_mapping);
    const id = template.template_id;
    const mayReplace = condition === undefined
      ? undefined
      : (before: IndexTemplate) => condition(templateEtag(before));
    const writer = await this.#deps.writer();
    for (let attempt = 0; attempt < REPLACE_ATTEMPTS_MAX; attempt += 1) {
      const outcome = await writer.putTemplate(namespace, template, mayReplace);
      if (outcome === "refused") throw changedMeanwhile(`index template ${id}`);
      if (outcome === "put") return await this.#deps.clock.sleep(HEARD_MS);
    }
    throw contention(`index template ${id}`);
  }

  /** Removes a template. Errors: `not_found`. */
  async deleteTemplate(namespace: string, id: string): Promise<void> {
    if (await (await this.#deps.writer()).deleteTemplate(namespace, id)) return;
    throw unknownTemplate(id);
  }

  async #find(namespace: string, id: string): Promise<ManagedIndex | undefined> {
    const { catalog } = this.#deps;
    const { indexes } = await catalog.indexView(namespace);
    const configured = indexes.get(id);
    if (configured !== undefined || BUILT_IN_TABLES.has(id)) return configured;
    const location = await catalog.metadataLocation({ namespace, name: id });
    return location === undefined
      ? undefined
      : { config: unconfiguredIndex(id), etag: UNCONFIGURED_ETAG };
  }

  async #checkUpdate(
    namespace: string,
    before: ManagedIndex,
    config: IndexConfig,
  ): Promise<void> {
    if (before.etag !== UNCONFIGURED_ETAG) {
      checkUpdate(before.config.doc_mapping, config.doc_mapping);
    }
    const schemas = await this.#deps.catalog.tableSchemas(namespace);
    indexSchema(config.doc_mapping, schemas.get(config.index_id));
  }
}

function unconfiguredIndex(id: string): IndexConfig {
  const name = TIMESTAMP_FIELD_DEFAULT;
  return {
    index_id: id,
    doc_mapping: {
      mode: "dynamic",
      timestamp_field: name,
      field_mappings: [{ name, type: "datetime", required: true }],
      tag_fields: [],
      default_search_fields: [],
    },
    index_at_flush: true,
  };
}

function unknownIndex(id: string): OperatingError {
  return new OperatingError(
    "not_found",
    `Cannot find index ${id}: create it with POST /api/v1/indexes`,
    { reason: "unknown_index" },
  );
}

function unknownTemplate(id: string): OperatingError {
  return new OperatingError("not_found", `Cannot find index template ${id}`, {
    reason: "unknown_template",
  });
}

/** The refusal of a change that others kept overtaking; `what` is for example `index app`. */
function changedMeanwhile(what: string): OperatingError {
  return new OperatingError(
    "precondition_failed",
    `Cannot replace ${what}: it is not as If-Match says; get it again, and change that`,
    { reason: "etag_mismatch" },
  );
}

function contention(what: string): OperatingError {
  return new OperatingError(
    "conflict",
    `Cannot replace ${what}: others changed it ${REPLACE_ATTEMPTS_MAX} times meanwhile; try again`,
    { reason: "index_contention" },
  );
}
