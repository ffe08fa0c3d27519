/**
 * The read side: loads a table's metadata and selects the data files that a time range needs.
 *
 * Everything read is immutable, so a reader that is kept (the query server's) answers from its
 * cache. Not covered: rows. Delete files of other engines are never ignored: what they touch is
 * told apart, or refused.
 */

import { OperatingError } from "../base/errors.ts";
import { type Weighed, WeighedCache } from "../base/weighed_cache.ts";
import type { TableSchema } from "../schema/schema.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { type ReadableStore, sharedRead } from "../storage/object_store.ts";
import { getSummed } from "../storage/summed_object.ts";
import { keyOfMetadata, TableLocator } from "./locations.ts";
import { decodeManifest, type ManifestEntry } from "./manifest.ts";
import { CONTENT, decodeManifestList, liveFiles, type ManifestFile } from "./manifest_list.ts";
import { PROMOTED_PROPERTY, TAGS_PROPERTY } from "./new_table.ts";
import { dayFieldOf } from "./partition.ts";
import { compareFiles, rangeFilter } from "./prune.ts";
import { tableSchemaOf } from "./schema_json.ts";
import { currentSnapshot, parseTableMetadata, type TableMetadata } from "./table_metadata.ts";
import { DeleteIndex, hasDeletes, type SpecEntry, type TouchedFile } from "./touched_files.ts";
import {
  ALL_TIME,
  type DataFile,
  type SelectedFiles,
  type Table,
  type TimeRange,
} from "./types.ts";

/** A table with what only this folder needs of it. */
export interface LoadedTable extends Table {
  readonly metadata: TableMetadata;
  readonly locator: TableLocator;
}

/** What one manifest has, of files by one partition spec. */
interface ManifestEntries {
  readonly entries: readonly ManifestEntry[];
  readonly specId: number;
}

export interface IcebergReaderOptions {
  /** Bytes of decoded metadata kept at most, estimated. */
  readonly cacheBytesMax?: number;
  /** Shared with another reader of the same objects; its own bound holds. */
  readonly cache?: WeighedCache;
}

const CACHE_BYTES_MAX = 64 * 1024 * 1024;
/** Manifests read at the same time. */
const READS_MAX = 16;
/** Decoded metadata takes about this many times its encoded bytes. */
const DECODED_FACTOR = 4;

export class IcebergReader {
  readonly store: ReadableStore;
  readonly #cache: WeighedCache;

  constructor(store: ReadableStore, options: IcebergReaderOptions = {}) {
    this.store = store;
    this.#cache = options.cache ?? new WeighedCache(options.cacheBytesMax ?? CACHE_BYTES_MAX);
  }

  /** Decoded metadata that is kept, estimated. */
  get bytes(): number {
    return this.#cache.bytes;
  }

  giveWay(): void {
    this.#cache.giveWay();
  }

  /** A reader with the same cache that asks `store`, another view of the same objects. */
  through(store: ReadableStore): IcebergReader {
    return store === this.store ? this : new IcebergReader(store, { cache: this.#cache });
  }

  /**
   * Errors: `not_found`, `corrupt`, `unimplemented` (format version, column type, partitioning).
   */
  async loadTable(ident: TableIdent, metadataLocation: string): Promise<LoadedTable> {
    const key = keyOfMetadata(this.store.rootUri, metadataLocation);
    const metadata = await this.#load(key, async () => {
      const bytes = await getSummed(this.store, key);
      const value = parseTableMetadata(bytes, metadataLocation);
      return { value, bytes: bytes.byteLength * DECODED_FACTOR };
    });
    return loadedTable(ident, metadata, {
      metadataLocation,
      locator: new TableLocator(this.store.rootUri, metadata.location, key),
    });
  }

  /**
   * Errors: as of `loadTable`; also `unavailable` (`delete_files`) when a file of the range has
   * rows that another engine deleted.
   */
  async selectFiles(table: LoadedTable, range: TimeRange = ALL_TIME): Promise<SelectedFiles> {
    const { files, considered, touched } = await this.selectWithDeletes(table, range);
    if (touched.length > 0) throw hasDeletes(nameOf(table), touched.length);
    return { files, considered };
  }

  /**
   * Selects as `selectFiles` does, and keeps apart what delete files of other engines may touch.
   * Errors: as of `loadTable`.
   */
  async selectWithDeletes(
    table: LoadedTable,
    range: TimeRange = ALL_TIME,
  ): Promise<SelectedFiles & { readonly touched: readonly TouchedFile[] }> {
    const isWanted = rangeFilter(range);
    const data: ManifestFile[] = [];
    const deletes: ManifestFile[] = [];
    let considered = 0;
    for (const manifest of await this.manifests(table)) {
      const live = liveFiles(manifest);
      if (live === 0) continue;
      if (manifest.content === CONTENT.data) considered += live;
      if (!isWanted.manifest(manifest)) continue;
      if (manifest.content === CONTENT.data) data.push(manifest);
      if (manifest.content === CONTENT.deletes) deletes.push(manifest);
    }
    const index = await this.#deleteIndex(table, deletes);
    const files: DataFile[] = [];
    const touched: TouchedFile[] = [];
    for (const { entries, specId } of await this.#entriesIn(table, data)) {
      for (const entry of entries) {
        const { file } = entry;
        if (!isWanted.file(file)) continue;
        const applied = index?.of({ entry, specId }) ?? [];
        if (applied.length === 0) files.push(file);
        else touched.push({ file, deletes: applied });
      }
    }
    files.sort(compareFiles);
    touched.sort((a, b) => compareFiles(a.file, b.file));
    return { files, considered, touched };
  }

  /** Whether another engine's delete files are in the current snapshot. */
  async hasDeletes(table: LoadedTable): Promise<boolean> {
    const manifests = await this.manifests(table);
    return manifests.some((one) => one.content === CONTENT.deletes && liveFiles(one) > 0);
  }

  /**
   * Every live data file's entry: what its manifest says of it, and which snapshot added it.
   * Errors: as of `loadTable`.
   */
  async liveEntries(table: LoadedTable): Promise<ManifestEntry[]> {
    const manifests = (await this.manifests(table)).filter((one) =>
      one.content === CONTENT.data && liveFiles(one) > 0
    );
    return (await this.#entriesOf(table, manifests)).map(({ entry }) => entry);
  }

  async #deleteIndex(
    table: LoadedTable,
    manifests: readonly ManifestFile[],
  ): Promise<DeleteIndex | undefined> {
    if (manifests.length === 0) return undefined;
    return new DeleteIndex(await this.#entriesOf(table, manifests));
  }

  async #entriesOf(
    table: LoadedTable,
    manifests: readonly ManifestFile[],
  ): Promise<SpecEntry[]> {
    const all = await this.#entriesIn(table, manifests);
    return all.flatMap(({ entries, specId }) => entries.map((entry) => ({ entry, specId })));
  }

  /** The entries of each manifest. */
  async #entriesIn(
    table: LoadedTable,
    manifests: readonly ManifestFile[],
  ): Promise<readonly ManifestEntries[]> {
    const all: ManifestEntries[] = [];
    for (let start = 0; start < manifests.length; start += READS_MAX) {
      const batch = manifests.slice(start, start + READS_MAX);
      all.push(
        ...await Promise.all(batch.map(async (one) => ({
          entries: await this.entries(table, one),
          specId: one.specId,
        }))),
      );
    }
    return all;
  }

  /** The current snapshot's manifests. */
  async manifests(table: LoadedTable): Promise<readonly ManifestFile[]> {
    const snapshot = currentSnapshot(table.metadata);
    if (snapshot === undefined) return [];
    const location = snapshot["manifest-list"];
    if (location === undefined) {
      throw new OperatingError(
        "unimplemented",
        `Cannot read snapshot ${
          snapshot["snapshot-id"]
        } of table ${table.metadata.location}: it has no ` +
          "manifest list. Rewrite it with the engine that wrote it.",
      );
    }
    const key = table.locator.keyOf(location);
    return await this.#load(key, async () => {
      const bytes = await getSummed(this.store, key);
      const value = decodeManifestList(bytes, location);
      return { value, bytes: bytes.byteLength * DECODED_FACTOR };
    });
  }

  /** Live entries of one manifest. */
  async entries(table: LoadedTable, manifest: ManifestFile): Promise<readonly ManifestEntry[]> {
    const key = table.locator.keyOf(manifest.location);
    return await this.#load(key, async () => {
      const { schema, locator, metadata } = table;
      const spec = metadata["partition-specs"].find(({ "spec-id": id }) => id === manifest.specId);
      if (spec === undefined) {
        throw new OperatingError(
          "corrupt",
          `Cannot read ${manifest.location}: the table has no partition spec ${manifest.specId}.`,
        );
      }
      const day = dayFieldOf(spec, schema, metadata.location);
      const bytes = await getSummed(this.store, key);
      const decoded = decodeManifest(bytes, manifest, { schema, day, locator });
      return { value: decoded.entries, bytes: decoded.recordsBytes * DECODED_FACTOR };
    });
  }

  #load<T>(key: string, read: () => Promise<Weighed<T>>): Promise<T> {
    return sharedRead(this.store, key, this.#cache.load(key, read));
  }
}

/** Metadata never changes, and a reader that keeps it reads its schema once. */
const SCHEMAS = new WeakMap<TableMetadata, TableSchema>();

/** What the rest of the service sees of `metadata`. */
export function loadedTable(
  ident: TableIdent,
  metadata: TableMetadata,
  where: { metadataLocation: string; locator: TableLocator },
): LoadedTable {
  const schema = SCHEMAS.get(metadata) ?? currentSchemaOf(metadata, where.metadataLocation);
  SCHEMAS.set(metadata, schema);
  return {
    ident,
    uuid: metadata["table-uuid"],
    metadataLocation: where.metadataLocation,
    locationKey: where.locator.locationKey,
    schema,
    schemaId: metadata["current-schema-id"],
    snapshotId: currentSnapshot(metadata)?.["snapshot-id"],
    sortOrderId: timeOrderId(metadata, schema),
    metadata,
    locator: where.locator,
  };
}

/** `name` is for messages. Errors: `corrupt`, `unimplemented` for a type without a column type. */
export function currentSchemaOf(metadata: TableMetadata, name: string): TableSchema {
  const schemaId = metadata["current-schema-id"];
  const json = metadata.schemas.find((schema) => schema["schema-id"] === schemaId);
  if (json !== undefined) {
    return tableSchemaOf(
      json,
      namesIn(metadata, TAGS_PROPERTY),
      namesIn(metadata, PROMOTED_PROPERTY),
    );
  }
  throw new OperatingError(
    "corrupt",
    `Cannot read table metadata ${name}: it has no schema ${schemaId}.`,
  );
}

/** A property of ours that is a list of columns; a table of another engine has none. */
function namesIn(metadata: TableMetadata, property: string): string[] {
  const text = metadata.properties[property];
  if (text === undefined) return [];
  const names = parsedOrUndefined(text);
  if (Array.isArray(names) && names.every((name) => typeof name === "string")) return names;
  throw new OperatingError(
    "corrupt",
    `Cannot read table ${metadata.location}: property ${property} is ${text}, not a JSON array of names.`,
  );
}

function parsedOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Id of the declared order (`timestamp`, `timestamp_ns`) ascending; 0 when the table declares none.
 */
function timeOrderId(metadata: TableMetadata, schema: TableSchema): number {
  const ids = ["timestamp", "timestamp_ns"].map((name) =>
    schema.columns.find((column) => column.name === name)?.id
  );
  const order = metadata["sort-orders"].find(({ fields }) =>
    fields.length === ids.length &&
    fields.every((field, i) =>
      field["source-id"] === ids[i] && field.transform === "identity" && field.direction === "asc"
    )
  );
  return order?.["order-id"] ?? 0;
}

function nameOf({ ident }: LoadedTable): string {
  return `table ${ident.namespace}.${ident.name}`;
}
