/** Adds up the summaries of one day's data files to a roll-up. */

import { isOperatingError } from "../base/errors.ts";
import { totalRows } from "../base/total_rows.ts";
import {
  readSidecar,
  type Sidecar,
  sidecarKey,
  type SidecarSource,
  type SidecarSubject,
} from "../derived/sidecar.ts";
import { FileSummary } from "../derived/summary/file_summary.ts";
import { writeRollup } from "../derived/summary/rollup.ts";
import {
  CUBE_COUNTS_BLOB,
  encodeSummary,
  GROUP_COUNTS_BLOB,
  MEASURES_BLOB,
  SUMMARY_BLOB,
} from "../derived/summary/summary_blobs.ts";
import type { Blob } from "../derived/types.ts";
import { blobOfCube, fitsRollup, specOfBlob } from "../engine/fast_paths/cube_blobs.ts";
import { DayCube } from "../engine/fast_paths/day_cube.ts";
import { type CubeSpec, TableValues } from "../engine/fast_paths/file_part.ts";
import { type Column, columnOf, type TableSchema } from "../schema/schema.ts";
import type { DataFile } from "../iceberg/types.ts";
import type { ObjectInfo, ReadableStore } from "../storage/object_store.ts";

/** Files whose summaries are in memory at a time. */
const FILES_MAX = 64;
/** The most bytes of a roll-up; blobs that do not fit are left out. */
const BYTES_MAX = 32 * 1024 * 1024;

/**
 * The roll-up of those of `files` that have a summary; undefined where fewer than two have. Errors:
 * the store's, but `not_found`.
 */
export async function buildRollup(
  store: ReadableStore,
  files: readonly DataFile[],
  { schema, signal }: { readonly schema: TableSchema; readonly signal?: AbortSignal },
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const usable: DataFile[] = [];
  const summaries = new SummaryStore(store);
  const cubes = new CubesOfDay(summaries, schema);
  for (let start = 0; start < files.length; start += FILES_MAX) {
    signal?.throwIfAborted();
    const batch = files.slice(start, start + FILES_MAX);
    const held = await summaries.hold(batch);
    usable.push(...batch.filter((_, at) => held[at] !== undefined));
    await cubes.add(held.filter((summary) => summary !== undefined), usable);
  }
  if (usable.length < 2) return undefined;
  const rows = totalRows(usable);
  const columnIds = [...cubes.columnIds].sort((a, b) => a - b);
  const own: Blob = { type: SUMMARY_BLOB, fields: columnIds, data: encodeSummary(rows) };
  return writeRollup(usable, [own, ...await cubes.blobs(usable)]);
}

class CubesOfDay {
  readonly columnIds = new Set<number>();
  readonly #schema: TableSchema;
  readonly #timeId: number;
  /** By spec. */
  readonly #cubes = new Map<string, { readonly spec: CubeSpec; readonly cube: DayCube }>();
  readonly #values = new Map<number, TableValues>();
  readonly #summaries: SummaryStore;

  constructor(summaries: SummaryStore, schema: TableSchema) {
    this.#schema = schema;
    this.#timeId = columnOf(schema, "timestamp").id;
    this.#summaries = summaries;
  }

  /** `all`: the files of `summaries` and those before. */
  async add(summaries: readonly FileSummary[], all: readonly DataFile[]): Promise<void> {
    for (const summary of summaries) {
      for (const id of summary.columnIds) this.columnIds.add(id);
      for (const blob of summary.blobs) this.#learn(blob);
    }
    for (const { cube } of this.#cubes.values()) await cube.of(all);
  }

  /**
   * The blobs of cubes of all files. Counts by value of a column come before what names values by
   * their place in them.
   */
  async blobs(files: readonly DataFile[]): Promise<Blob[]> {
    const blobs: Blob[] = [];
    const counted = new Set<number>();
    let bytes = 0;
    const ordered = [...this.#cubes.values()].sort((one, other) =>
      rankOf(one.spec) - rankOf(other.spec)
    );
    for (const { spec, cube } of ordered) {
      const isGroup = rankOf(spec) === 0;
      if (!isGroup && !spec.columns.every(({ id }) => counted.has(id))) continue;
      if (!spec.columns.every((column) => fitsRollup(this.#valuesOf(column)))) continue;
      const part = await cube.of(files);
      if (part.held.size < files.length) continue;
      const blob = blobOfCube(spec, part, (column) => this.#valuesOf(column));
      if (blob === undefined || bytes + blob.data.byteLength > BYTES_MAX) continue;
      bytes += blob.data.byteLength;
      blobs.push(blob);
      if (isGroup) { for (const { id } of spec.columns) counted.add(id); }
    }
    return blobs;
  }

  #learn(blob: Pick<Blob, "type" | "fields">): void {
    const spec = specOfBlob(blob, { columns: this.#schema.columns, timeId: this.#timeId });
    if (spec === undefined) return;
    const name = JSON.stringify([
      spec.minutes,
      spec.columns.map(({ id }) => id),
      spec.measures.map(({ id }) => id),
    ]);
    if (this.#cubes.has(name)) return;
    const cube = new DayCube({
      store: this.#summaries,
      sidecars: this.#summaries,
      values: (column) => this.#valuesOf(column),
      nowMs: () => 0,
    }, spec);
    this.#cubes.set(name, { spec, cube });
  }

  #valuesOf(column: Column): TableValues {
    const known = this.#values.get(column.id) ?? new TableValues();
    this.#values.set(column.id, known);
    return known;
  }
}

/** Counts by value first. */
function rankOf({ minutes, columns, measures }: CubeSpec): number {
  return !minutes && columns.length === 1 && measures.length === 0 ? 0 : 1;
}

/**
 * The store, with the sidecars of some files and their summaries in memory: a cube reads its own
 * part of each, and there are dozens of cubes. It has no roll-ups: one that is made from another
 * would hand its damage on.
 */
class SummaryStore implements ReadableStore, SidecarSource {
  readonly #store: ReadableStore;
  /** By the key of the data file. */
  readonly #sidecars = new Map<string, Sidecar>();
  readonly #pieces = new Map<string, Piece[]>();

  constructor(store: ReadableStore) {
    this.#store = store;
  }

  get rootUri(): string {
    return this.#store.rootUri;
  }

  /** Forgets all others. Undefined for each file whose summary cannot be read. */
  async hold(files: readonly DataFile[]): Promise<(FileSummary | undefined)[]> {
    this.#sidecars.clear();
    this.#pieces.clear();
    return await Promise.all(files.map((file) => this.#holdOne(file)));
  }

  async #holdOne(file: SidecarSubject): Promise<FileSummary | undefined> {
    try {
      const sidecar = await this.read(this, file);
      const summary = sidecar === undefined ? undefined : FileSummary.of(this, sidecar, file.rows);
      if (sidecar === undefined || summary === undefined) return undefined;
      const wanted = sidecar.blobs.filter(({ type }) => CUBE_BLOBS.has(type));
      // A builder's blobs stand one behind the other.
      const start = Math.min(...wanted.map(({ offset }) => offset));
      const end = Math.max(...wanted.map(({ offset, length }) => offset + length));
      if (wanted.length > 0) await this.getRange(sidecar.key, start, end - start);
      return summary;
    } catch (error) {
      if (isOperatingError(error, "corrupt") || isOperatingError(error, "not_found")) {
        return undefined;
      }
      throw error;
    }
  }

  async read(store: ReadableStore, subject: SidecarSubject): Promise<Sidecar | undefined> {
    const sidecar = this.#sidecars.get(subject.key) ?? await readSidecar(store, subject);
    if (sidecar !== undefined) this.#sidecars.set(subject.key, sidecar);
    return sidecar;
  }

  distrust({ key }: SidecarSubject): void {
    this.#sidecars.delete(key);
    this.#pieces.delete(sidecarKey(key));
  }

  head(key: string): Promise<ObjectInfo> {
    return this.#store.head(key);
  }

  async getRange(key: string, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    const pieces = this.#pieces.get(key) ?? [];
    const piece = pieces.find(({ start, bytes }) =>
      start <= offset && offset + length <= start + bytes.byteLength
    );
    if (piece !== undefined) {
      return piece.bytes.slice(offset - piece.start, offset - piece.start + length);
    }
    const bytes = await this.#store.getRange(key, offset, length);
    this.#pieces.set(key, [...pieces, { start: offset, bytes }]);
    return bytes;
  }

  get(key: string): Promise<Uint8Array<ArrayBuffer>> {
    return this.#store.get(key);
  }

  async *list(): AsyncGenerator<ObjectInfo> {}

  localPath(): undefined {
    return undefined;
  }
}

interface Piece {
  readonly start: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const CUBE_BLOBS: ReadonlySet<string> = new Set([
  GROUP_COUNTS_BLOB,
  CUBE_COUNTS_BLOB,
  MEASURES_BLOB,
]);
