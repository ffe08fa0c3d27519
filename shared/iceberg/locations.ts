/**
 * Where a table's files are: every name that this folder writes, and the way from an absolute
 * location in the metadata to a key of the store.
 *
 * Invariants: a table's directory carries its uuid, so two incarnations of one name never share a
 * file. A file's location under a former root of the warehouse leads to the same key as under the
 * current one.
 */

import { assert } from "../base/assert.ts";
import { OperatingError } from "../base/errors.ts";
import type { CompleteColumns } from "../schema/promoted.ts";
import { MS_PER_DAY } from "../base/time.ts";
import { QUERY_AUDIT_TABLE } from "../schema/query_audit.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { keyOf } from "../storage/object_store.ts";
import type { Table } from "./types.ts";

/** Components of `<namespace>/<table directory>/metadata/<file>`. */
const METADATA_KEY_DEPTH = 4;

/**
 * Tables whose incarnations lie in one folder, `<namespace>/<table>/<uuid>`, so that a process can
 * be granted that folder and no more: its path is known before the table is.
 */
const TABLES_WITH_FOLDER: ReadonlySet<string> = new Set([QUERY_AUDIT_TABLE]);
const FULL_FILE_END = "-full.parquet";
const COMPLETE_COLUMNS = /-columns-([0-9a-f]{1,256})(?:-full)?\.parquet$/;
const UUID_FOLDER = /^[0-9a-f]{32}$/;

/**
 * Key prefix of a new table's files: `<namespace>/<table>-<uuid without dashes>`, or see
 * `TABLES_WITH_FOLDER`.
 */
export function tableLocationKey({ namespace, name }: TableIdent, tableUuid: string): string {
  const joint = TABLES_WITH_FOLDER.has(name) ? "/" : "-";
  return `${namespace}/${name}${joint}${tableUuid.replaceAll("-", "")}`;
}

/** What a data file's name says of it, since a manifest has no place for that. */
export interface DataFileTraits {
  /** It is as large as files get, so that merges leave it alone. Default false. */
  readonly isFull?: boolean;
  /** Which of its promoted columns are complete. Default none. */
  readonly complete?: CompleteColumns;
}

/** Key of a new data file; `day` counts from 1970-01-01, `uuid` is fresh. */
export function dataFileKey(
  table: Pick<Table, "locationKey">,
  day: number,
  uuid: string,
  { isFull = false, complete = 0n }: DataFileTraits = {},
): string {
  const date = new Date(day * MS_PER_DAY).toISOString().slice(0, 10);
  const columns = complete === 0n ? "" : `-columns-${complete.toString(16)}`;
  const name = `${uuid}${columns}${isFull ? FULL_FILE_END : ".parquet"}`;
  return `${table.locationKey}/data/timestamp_day=${date}/${name}`;
}

/** The day that a data file's key says, from 1970-01-01; undefined: it says none. */
export function dayOfKey(key: string): number | undefined {
  const [, date = ""] = /\/timestamp_day=(\d{4}-\d\d-\d\d)\//.exec(key) ?? [];
  const ms = Date.parse(date);
  return Number.isNaN(ms) ? undefined : ms / MS_PER_DAY;
}

/** Which promoted columns `dataFileKey` was told of as complete; 0 for any other key. */
export function completeColumnsOf(key: string): CompleteColumns {
  const digits = COMPLETE_COLUMNS.exec(key)?.[1];
  return digits === undefined ? 0n : BigInt(`0x${digits}`);
}

/** Whether `dataFileKey` made the key for a file that was cut at its largest size. */
export function isFullFile(key: string): boolean {
  return key.endsWith(FULL_FILE_END);
}

/** Key of a new metadata file, the `version`th of its table. */
export function metadataKey(locationKey: string, version: number, uuid: string): string {
  return `${locationKey}/metadata/${String(version).padStart(5, "0")}-${uuid}.metadata.json`;
}

/** The key of a snapshot's manifest list. */
export function manifestListKey(locationKey: string, snapshotId: bigint, uuid: string): string {
  return `${locationKey}/metadata/snap-${snapshotId}-0-${uuid}.avro`;
}

/** The key of a manifest. */
export function manifestKey(locationKey: string, uuid: string): string {
  return `${locationKey}/metadata/${uuid}-m0.avro`;
}

/** Version number in a metadata file's name, or undefined when another naming was used. */
export function metadataVersionOf(metadataLocation: string): number | undefined {
  const match = /\/v?(\d{1,9})(?:-[^/]*)?(?:\.gz)?\.metadata\.json$/.exec(metadataLocation);
  return match === null ? undefined : Number(match[1]);
}

/**
 * Key of the metadata file that the catalog points to. When the location is not below `rootUri` the
 * warehouse was moved: the same file is expected at the same place below the current root.
 */
export function keyOfMetadata(rootUri: string, metadataLocation: string): string {
  const direct = keyOf(rootUri, normalLocation(metadataLocation));
  if (direct !== undefined) return direct;
  const parts = pathOf(metadataLocation).split("/").filter((part) => part !== "");
  assert(parts.length > 0, "metadata location names no file");
  const hasFolder = UUID_FOLDER.test(parts.at(-3) ?? "");
  return parts.slice(hasFolder ? -METADATA_KEY_DEPTH - 1 : -METADATA_KEY_DEPTH).join("/");
}

/** Whether `location`, however spelled, lies below the current root. */
export function isBelowRoot(rootUri: string, location: string): boolean {
  return keyOf(rootUri, normalLocation(location)) !== undefined;
}

/** Finds keys of one table's files, whatever root their locations were written under. */
export class TableLocator {
  /** Location of the table below the current root. */
  readonly location: string;
  readonly locationKey: string;
  readonly #rootUri: string;
  readonly #marker: string;

  /** `location` is the metadata's own; `key` is where that metadata file was found. */
  constructor(rootUri: string, location: string, key: string) {
    this.#rootUri = rootUri;
    const direct = keyOf(rootUri, normalLocation(location).replace(/\/+$/, ""));
    this.locationKey = direct ?? key.split("/").slice(0, -2).join("/");
    this.location = `${rootUri}/${this.locationKey}`;
    this.#marker = `/${this.locationKey.split("/").slice(-2).join("/")}/`;
  }

  /** Errors: `unimplemented` for a file outside of the warehouse. */
  keyOf(location: string): string {
    const direct = keyOf(this.#rootUri, normalLocation(location));
    if (direct !== undefined) return direct;
    const at = location.lastIndexOf(this.#marker);
    if (at >= 0) return `${this.locationKey}/${location.slice(at + this.#marker.length)}`;
    throw new OperatingError(
      "unimplemented",
      `Cannot read ${location}: it lies outside of the warehouse ${this.#rootUri} and is no file of a ` +
        `moved table ${this.locationKey}. Copy the file into the table's directory and rewrite its metadata.`,
    );
  }
}

/** Other writers' spellings of one place: `/p`, `file:/p`, `file:///p`; `s3a://` and `s3://`. */
function normalLocation(location: string): string {
  if (location.startsWith("/")) return `file://${location}`;
  if (/^file:\/[^/]/.test(location)) return `file://${location.slice("file:".length)}`;
  return location.replace(/^s3[an]:\/\//, "s3://");
}

function pathOf(location: string): string {
  return location.replace(/^[a-z][a-z0-9+.-]*:/i, "");
}
