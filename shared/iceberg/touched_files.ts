/**
 * Which delete files of other engines apply to which data files: Iceberg table specification, "Scan
 * Planning". Both are of one partition. Positions apply to data files that are no younger, values
 * to older ones. Pure.
 */

import { OperatingError } from "../base/errors.ts";
import type { DeleteContent, ManifestEntry } from "./manifest.ts";
import type { DataFile } from "./types.ts";

/** Field ids of the columns of a file with positions. */
export const DELETE_COLUMN_IDS = { path: 2_147_483_546, position: 2_147_483_545 } as const;

/** A live delete file of another engine. */
export interface ForeignDelete extends DeleteContent {
  readonly key: string;
  readonly location: string;
  readonly rows: number;
  readonly byteLength: number;
}

/** A data file some of whose rows may be deleted. */
export interface TouchedFile {
  readonly file: DataFile;
  /** At least one. */
  readonly deletes: readonly ForeignDelete[];
}

/** An entry with the partition spec of its manifest. */
export interface SpecEntry {
  readonly entry: ManifestEntry;
  readonly specId: number;
}

/** Finds the deletes of data files among `all` of a snapshot's delete files. */
export class DeleteIndex {
  /** By partition. */
  readonly #byPlace: ReadonlyMap<string, readonly ManifestEntry[]>;

  constructor(all: readonly SpecEntry[]) {
    const groups = Map.groupBy(all, placeOf);
    this.#byPlace = new Map(
      groups.entries().map(([place, own]) => [place, own.map(({ entry }) => entry)]),
    );
  }

  /** Deletes that may take rows out of a data file, in the order of their keys. */
  of(data: SpecEntry): ForeignDelete[] {
    const { file } = data.entry;
    return (this.#byPlace.get(placeOf(data)) ?? [])
      .filter((one) => isYounger(one, data.entry) && mayNameFile(one, file))
      .map(foreignDelete)
      .sort((a, b) => a.key < b.key ? -1 : 1);
  }
}

/** Names a data file together with its deletes. */
export function touchedName({ file, deletes }: TouchedFile): string {
  return [file.key, ...deletes.map(({ key }) => key)].join("\n");
}

/** For what does not look at delete files. The compactor applies them, table by table. */
export function hasDeletes(what: string, count: number): OperatingError {
  return new OperatingError(
    "unavailable",
    `Cannot use ${what} now: ${count} of its data files have rows that another engine deleted. ` +
      "The compactor writes these files anew; try again in a moment, or rewrite the data files " +
      "with that engine.",
    { reason: "delete_files", retryAfterSecs: 10 },
  );
}

function placeOf({ entry, specId }: SpecEntry): string {
  return `${specId}/${entry.file.day}`;
}

function isYounger(one: ManifestEntry, data: ManifestEntry): boolean {
  const [deleted, written] = [one.sequenceNumber ?? 0n, data.sequenceNumber ?? 0n];
  return one.file.deletes?.kind === "equality" ? written < deleted : written <= deleted;
}

/** A file of positions says, or its bounds tell, which data files it names. */
function mayNameFile({ file }: ManifestEntry, { location }: DataFile): boolean {
  const { deletes, lowerBounds, upperBounds } = file;
  if (deletes === undefined || deletes.kind === "equality") return true;
  if (deletes.dataLocation !== undefined) return deletes.dataLocation === location;
  const path = new TextEncoder().encode(location);
  const lower = lowerBounds.get(DELETE_COLUMN_IDS.path);
  const upper = upperBounds.get(DELETE_COLUMN_IDS.path);
  return !(lower !== undefined && compareBytes(path, lower) < 0) &&
    !(upper !== undefined && compareBytes(path, upper) > 0);
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const order = (a[at] ?? 0) - (b[at] ?? 0);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function foreignDelete({ file }: ManifestEntry): ForeignDelete {
  const { key, location, rows, byteLength, deletes } = file;
  const { kind = "position", equalityIds = [], dataLocation } = deletes ?? {};
  return { key, location, rows, byteLength, kind, equalityIds, dataLocation };
}
