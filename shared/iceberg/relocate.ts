/**
 * Writes a table's locations anew for the place where its warehouse is now. Readers of ours find
 * the files of a moved warehouse by their keys. Other engines take locations as they stand, so
 * those of a copy lead them to the original.
 *
 * Invariants: rows, snapshots, ids and sequence numbers stay; only locations change, in metadata,
 * manifest lists and manifests of every snapshot. A file that changes gets a new name, so a reader
 * of the former metadata goes on. One commit; nothing is written where all is in its place.
 *
 * Not covered: position deletes, which name files inside of Parquet. Tables with such are refused,
 * or their metadata file alone is written anew.
 */

import { OperatingError } from "../base/errors.ts";
import { getSummed, uuidOfBytes } from "../storage/summed_object.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { type AvroFile, type AvroRecord, readAvroFile, writeAvroFile } from "./avro_container.ts";
import { FieldNames } from "./avro_fields.ts";
import { type CommitDeps, commitTable, type StagedChange } from "./commit_table.ts";
import type { LoadedTable } from "./iceberg_reader.ts";
import { isBelowRoot, keyOfMetadata, manifestKey, manifestListKey } from "./locations.ts";
import { CONTENT } from "./manifest_list.ts";
import { losslessJson } from "./lossless_json.ts";
import { stageMetadata } from "./stage_snapshot.ts";
import type { Staging } from "./staging.ts";
import type { Snapshot, TableMetadata } from "./table_metadata.ts";

/** Files of metadata that were written anew; all 0 where everything was in its place. */
export interface Relocated {
  readonly metadata: number;
  readonly manifestLists: number;
  readonly manifests: number;
}

const SYNC_BYTES = 16;
const AVRO_PREFIX = "avro.";
/** Ids of Iceberg's fields. */
const FIELD = {
  dataFile: 2,
  filePath: 100,
  manifestPath: 500,
  manifestLength: 501,
  addedFiles: 504,
  existingFiles: 505,
  content: 517,
} as const;
/** Properties that say where an engine writes. */
const PLACE_PROPERTY = /^write\..*path$/;

export interface RelocateOptions {
  /**
   * Writes the metadata file anew and leaves the files of snapshots as they are: our roles work on
   * the table here from then on, and other engines must wait. Default false.
   */
  readonly isShallow?: boolean;
}

/**
 * Brings every location of the table below the root of `deps.store`. Errors: those of reading its
 * metadata and of a commit. A file outside of the warehouse that was not moved with the table is
 * `unimplemented`, and so are delete files (`delete_files`).
 */
export async function relocateTable(
  deps: CommitDeps,
  ident: TableIdent,
  { isShallow = false }: RelocateOptions = {},
): Promise<Relocated> {
  let attempt = new Relocation(deps, isShallow);
  await commitTable(deps, ident, async (base, staging) => {
    if (base === undefined) return undefined;
    attempt = new Relocation(deps, isShallow);
    return await attempt.stage(base, staging);
  }, { relocates: true });
  return attempt.relocated;
}

/** What would be written anew of the table as it is now. Errors: as `relocateTable`. */
export async function lookForRelocation(deps: CommitDeps, table: LoadedTable): Promise<Relocated> {
  const look = new Relocation(deps);
  await look.stage(table, undefined);
  return look.relocated;
}

/** Where a file is named from now on; its length may have changed with its contents. */
interface Place {
  readonly location: string;
  readonly byteLength: bigint;
}

/** One attempt; without a staging it only counts. */
class Relocation {
  readonly #deps: CommitDeps;
  readonly #isShallow: boolean;
  readonly #relocated = { metadata: 0, manifestLists: 0, manifests: 0 };
  /** By former location, since snapshots share them; undefined: it stays as it is. */
  readonly #manifests = new Map<string, Place | undefined>();

  constructor(deps: CommitDeps, isShallow = false) {
    this.#deps = deps;
    this.#isShallow = isShallow;
  }

  get relocated(): Relocated {
    return { ...this.#relocated };
  }

  async stage(base: LoadedTable, staging: Staging | undefined): Promise<StagedChange | undefined> {
    const { rootUri } = this.#deps.store;
    const { metadata } = base;
    const snapshots: Snapshot[] = [];
    for (const snapshot of metadata.snapshots) {
      snapshots.push(
        this.#isShallow ? snapshot : await this.#snapshot(base, snapshot, staging),
      );
    }
    const next = withPlaces({ ...metadata, snapshots }, base);
    const isInPlace = isBelowRoot(rootUri, base.metadataLocation) &&
      losslessJson(next) === losslessJson(metadata);
    if (isInPlace) return undefined;
    this.#relocated.metadata = 1;
    if (staging === undefined) return undefined;
    const metadataLocation = `${rootUri}/${keyOfMetadata(rootUri, base.metadataLocation)}`;
    const table = { ...base, metadataLocation };
    const staged = stageMetadata(this.#deps, { table, exists: true }, { next, staging });
    return { ...staged, snapshotId: 0n, consumed: [] };
  }

  /** The snapshot with its manifest list where that is now. */
  async #snapshot(
    table: LoadedTable,
    snapshot: Snapshot,
    staging: Staging | undefined,
  ): Promise<Snapshot> {
    const location = snapshot["manifest-list"];
    if (location === undefined) return snapshot;
    const key = table.locator.keyOf(location);
    const list = readAvroFile(await getSummed(this.#deps.store, key), location);
    const names = new FieldNames(list.schema);
    let isChanged = false;
    const records: AvroRecord[] = [];
    for (const record of list.records) {
      const place = await this.#manifest(table, { names, record, list: location }, staging);
      isChanged ||= place !== undefined;
      records.push(
        place === undefined ? record : {
          ...record,
          [names.nameOf(FIELD.manifestPath) ?? ""]: place.location,
          [names.nameOf(FIELD.manifestLength) ?? ""]: place.byteLength,
        },
      );
    }
    if (!isChanged) return { ...snapshot, "manifest-list": this.#locationOf(key) };
    this.#relocated.manifestLists += 1;
    const bytes = this.#encoded(list, records);
    const uuid = uuidOfBytes(this.#deps.random, bytes);
    const newKey = manifestListKey(table.locationKey, snapshot["snapshot-id"], uuid);
    staging?.put(newKey, bytes);
    return { ...snapshot, "manifest-list": this.#locationOf(newKey) };
  }

  /** Where a row of a manifest list leads from now on; undefined: where it does. */
  async #manifest(
    table: LoadedTable,
    { names, record, list }: { names: FieldNames; record: AvroRecord; list: string },
    staging: Staging | undefined,
  ): Promise<Place | undefined> {
    const location = names.text(record, FIELD.manifestPath) ?? "";
    const files = (names.number(record, FIELD.addedFiles) ?? 0) +
      (names.number(record, FIELD.existingFiles) ?? 0);
    if (names.number(record, FIELD.content) === CONTENT.deletes && files > 0) {
      throw hasDeletes(table, list);
    }
    if (this.#manifests.has(location)) return this.#manifests.get(location);
    const byteLength = names.long(record, FIELD.manifestLength) ?? 0n;
    const place = await this.#manifestPlace(table, { location, byteLength }, staging);
    this.#manifests.set(location, place);
    return place;
  }

  async #manifestPlace(
    table: LoadedTable,
    { location, byteLength }: Place,
    staging: Staging | undefined,
  ): Promise<Place | undefined> {
    const key = table.locator.keyOf(location);
    const manifest = readAvroFile(await getSummed(this.#deps.store, key), location);
    const names = new FieldNames(manifest.schema);
    let isChanged = false;
    for (const record of manifest.records) {
      const file = names.record(record, FIELD.dataFile, location);
      const path = names.text(file, FIELD.filePath) ?? "";
      const now = this.#locationOf(table.locator.keyOf(path));
      if (now === path) continue;
      isChanged = true;
      file[names.nameOf(FIELD.filePath) ?? ""] = now;
    }
    if (!isChanged) {
      const now = this.#locationOf(key);
      return now === location ? undefined : { location: now, byteLength };
    }
    this.#relocated.manifests += 1;
    const bytes = this.#encoded(manifest, manifest.records);
    const newKey = manifestKey(table.locationKey, uuidOfBytes(this.#deps.random, bytes));
    staging?.put(newKey, bytes);
    return { location: this.#locationOf(newKey), byteLength: BigInt(bytes.byteLength) };
  }

  /** The file with other records; all else is as it was. */
  #encoded(
    { schema, metadata }: AvroFile,
    records: readonly AvroRecord[],
  ): Uint8Array<ArrayBuffer> {
    const own = [...metadata].filter(([name]) => !name.startsWith(AVRO_PREFIX));
    return writeAvroFile(schema, records, {
      metadata: Object.fromEntries(own),
      sync: this.#deps.random.bytes(SYNC_BYTES),
    });
  }

  #locationOf(key: string): string {
    return `${this.#deps.store.rootUri}/${key}`;
  }
}

/** The metadata with what else it locates where that is now. Pure. */
function withPlaces(metadata: TableMetadata, { locator }: LoadedTable): TableMetadata {
  const { location: former } = metadata;
  const now = (location: string) => {
    const key = locator.keyOf(location);
    return `${locator.location.slice(0, -locator.locationKey.length)}${key}`;
  };
  const properties = Object.fromEntries(
    Object.entries(metadata.properties).map(([name, value]) => [
      name,
      PLACE_PROPERTY.test(name) && value.startsWith(former)
        ? locator.location + value.slice(former.length)
        : value,
    ]),
  );
  const next: Record<string, unknown> = {
    ...metadata,
    location: locator.location,
    properties,
    "metadata-log": metadata["metadata-log"].map((entry) => ({
      ...entry,
      "metadata-file": now(entry["metadata-file"]),
    })),
  };
  for (const member of ["statistics", "partition-statistics"]) {
    const list = next[member];
    if (!Array.isArray(list)) continue;
    next[member] = list.map((entry) => ({
      ...entry,
      "statistics-path": now(String(entry["statistics-path"])),
    }));
  }
  return next as TableMetadata;
}

function hasDeletes(table: LoadedTable, list: string): OperatingError {
  return new OperatingError(
    "unimplemented",
    `Cannot relocate table ${table.metadata.location}: ${list} has delete files, which name data files themselves. ` +
      "Let the compactor at the former place apply them, which takes minutes, or the engine that wrote them.",
    { reason: "delete_files" },
  );
}
